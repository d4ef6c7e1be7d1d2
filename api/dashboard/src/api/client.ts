import createClient, { type Middleware } from "openapi-fetch";

import type { paths } from "./schema";
import { accessToken, refresh } from "./token";

/** A refusal of the API, or its absence (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId?: string,
    readonly details: { path: string; message: string }[] = [],
    readonly retryAfter?: number,
  ) {
    super(message);
  }

  /** What is wrong with a member of the request, if it is this one. */
  at(path: string) {
    return this.details.find((detail) => detail.path === path)?.message;
  }
}

/** Sends a request with the access token; once more with a new one when it has expired. */
export async function authorized(request: Request): Promise<Response> {
  const retry = request.clone();
  const used = accessToken();
  if (used) request.headers.set("Authorization", `Bearer ${used}`);
  const response = await send(request);
  if (response.status !== 401 || used === null) return response;
  const code = await codeOf(response.clone());
  if (code !== "TOKEN_EXPIRED" && code !== "TOKEN_REVOKED" && code !== "TOKEN_INVALID") return response;
  if ((await refresh(used)) !== "renewed") return response;
  retry.headers.set("Authorization", `Bearer ${accessToken()}`);
  return send(retry);
}

async function send(request: Request): Promise<Response> {
  try {
    return await fetch(request);
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    throw new ApiError(0, "UNREACHABLE", "The service cannot be reached. Check the connection; what you see may be out of date.");
  }
}

async function codeOf(response: Response): Promise<string | undefined> {
  try {
    return ((await response.json()) as { error?: { code?: string } }).error?.code;
  } catch {
    return undefined;
  }
}

const refusals: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return undefined;
    let error: { code?: string; message?: string; requestId?: string; details?: { path: string; message: string }[] } = {};
    try {
      error = ((await response.json()) as { error: typeof error }).error ?? {};
    } catch {
      // A proxy's answer, not ours.
    }
    throw new ApiError(
      response.status,
      error.code ?? "UNKNOWN",
      error.message ?? `The service answered with status ${response.status}.`,
      error.requestId ?? response.headers.get("X-Request-Id") ?? undefined,
      error.details,
      Number(response.headers.get("Retry-After")) || undefined,
    );
  },
};

/** The REST API, typed by openapi.yaml. A refusal is thrown as an ApiError. */
export const api = createClient<paths>({ baseUrl: "/", fetch: authorized });
api.use(refusals);

/** The data of an answer. */
export async function data<T>(answer: Promise<{ data?: { data: T } }>): Promise<T> {
  return (await answer).data!.data;
}

/** What is wrong with which member of a request, if that is why it was refused. */
export const faultsIn = (error: unknown) => (path: string) => (error instanceof ApiError ? error.at(path) : undefined);

/** A key under which a POST that is sent twice has its effect once. */
export const idempotencyKey = () => crypto.randomUUID();
