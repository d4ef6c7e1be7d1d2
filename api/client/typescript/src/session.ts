import { tokenIssuers } from "./generated/operations.js";
import { codeOf, parse } from "./error.js";

/** The tokens of a session. Browsers keep the refresh token in a cookie that scripts cannot read. */
export interface Tokens {
  accessToken?: string | undefined;
  refreshToken?: string | undefined;
}

export interface SessionOptions extends Tokens {
  /** `user`: a member of a store or a platform administrator, who logs in under /auth. `customer`: /customer-auth. */
  realm: "user" | "customer";
  /** Called with the new tokens after each login, refresh and logout, for example to store them. */
  onChange?: (tokens: Tokens) => void;
}

const realms = {
  user: { prefix: "/auth", cookie: "refreshToken" },
  customer: { prefix: "/customer-auth", cookie: "customerRefreshToken" },
};

/**
 * A session of a user or a customer. It adopts the tokens of the responses to logins, and renews an expired access
 * token. Each refresh token is valid once, and the service ends all sessions if one is used twice. Therefore, only one
 * refresh runs at a time, and a refresh without a response is not repeated. It ends the session if the refresh token is
 * in `Tokens`, because the service may have replaced the token. A browser continues with its cookie.
 */
export class Session {
  readonly refreshPath: string;
  readonly #logoutPath: string;
  readonly #prefix: string;
  readonly #cookie: string;
  readonly #onChange: (tokens: Tokens) => void;
  #tokens: Tokens;
  /** Whether the service has refused to refresh; a login starts a new session. */
  #ended = false;
  #renewal: Promise<Response> | undefined;

  constructor({ realm, accessToken, refreshToken, onChange = () => {} }: SessionOptions) {
    const { prefix, cookie } = realms[realm];
    this.refreshPath = `${prefix}/refresh`;
    this.#logoutPath = `${prefix}/logout`;
    this.#prefix = `${prefix}/`;
    this.#cookie = cookie;
    this.#tokens = { accessToken, refreshToken };
    this.#onChange = onChange;
  }

  get accessToken() {
    return this.#tokens.accessToken;
  }

  /** Adds the credentials to a request. Browsers ignore the header Cookie and send their own cookie. */
  authorize(request: Request, path: string) {
    const { accessToken, refreshToken } = this.#tokens;
    if (accessToken && path !== this.refreshPath) request.headers.set("Authorization", `Bearer ${accessToken}`);
    if (refreshToken && (path === this.refreshPath || path === this.#logoutPath))
      request.headers.set("Cookie", `${this.#cookie}=${refreshToken}`);
  }

  /** Reports whether the request of a response can succeed with a new access token. */
  async needsToken(response: Response, used: string | undefined): Promise<boolean> {
    if (response.status !== 401 || this.#ended) return false;
    return (await codeOf(response)) === (used ? "TOKEN_EXPIRED" : "TOKEN_INVALID");
  }

  /** Replaces an access token. Concurrent calls share one refresh. Returns a response that the caller may read. */
  async renew(stale: string | undefined, send: () => Promise<Response>): Promise<Response> {
    this.#renewal ??= this.#exchange(stale, send).finally(() => {
      this.#renewal = undefined;
    });
    return (await this.#renewal).clone();
  }

  async #exchange(stale: string | undefined, send: () => Promise<Response>): Promise<Response> {
    const { refreshToken } = this.#tokens;
    // A login or a logout was faster. A switch of the store replaces only the access token.
    const replaced = () =>
      refreshToken ? this.#tokens.refreshToken !== refreshToken : this.#tokens.accessToken !== stale;
    try {
      const response = await this.#locked(send);
      const accessToken = response.ok ? await accessTokenOf(response) : undefined;
      if (replaced()) return response;
      if (accessToken)
        this.#take(response, this.#tokens.accessToken === stale ? accessToken : this.#tokens.accessToken);
      else if (response.status === 401 || (refreshToken && response.status >= 500)) this.#end();
      return response;
    } catch (cause) {
      if (refreshToken && !replaced() && !unsent(cause)) this.#end();
      throw cause;
    }
  }

  /** Prevents that two tabs of a browser use the same cookie. */
  #locked(send: () => Promise<Response>): Promise<Response> {
    const locks = this.#tokens.refreshToken ? undefined : globalThis.navigator?.locks;
    return locks ? (locks.request(`comanda.${this.#cookie}`, send) as Promise<unknown> as Promise<Response>) : send();
  }

  /** Takes over the tokens of a successful response, without reading its body. */
  async adopt(response: Response, path: string): Promise<void> {
    if (!path.startsWith(this.#prefix)) return;
    if (path === this.#logoutPath) return this.#end();
    if (tokenIssuers.has(path)) this.#take(response, await accessTokenOf(response));
  }

  #take(response: Response, accessToken: string | undefined) {
    const cookie = response.headers.getSetCookie?.().find((one) => one.startsWith(`${this.#cookie}=`));
    const refreshToken = cookie?.slice(this.#cookie.length + 1).split(";", 1)[0] || this.#tokens.refreshToken;
    this.#ended = false;
    this.#tokens = { accessToken, refreshToken };
    this.#onChange(this.#tokens);
  }

  #end() {
    this.#ended = true;
    this.#tokens = {};
    this.#onChange(this.#tokens);
  }
}

/** Returns the token of a successful login or refresh, without reading its body. */
async function accessTokenOf(response: Response): Promise<string> {
  const { data } = parse(await response.clone().text(), response) as { data: { accessToken: string } };
  return data.accessToken;
}

/** The codes of errors of Node that precede a connection. */
const connecting = new Set<unknown>(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

/** Reports whether a request failed before it was sent. */
const unsent = (error: unknown) =>
  error instanceof Error && connecting.has((error.cause as { code?: unknown } | undefined)?.code);
