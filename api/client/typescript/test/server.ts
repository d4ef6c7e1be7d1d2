import { createClient, type ClientOptions } from "../src/index.js";

/** A request as the service received it. */
export interface Received {
  method: string;
  path: string;
  headers: Headers;
  body: string;
  signal: AbortSignal;
}

/** Returns a success of the API. */
export const success = (data: unknown, meta?: unknown, headers: HeadersInit = {}) =>
  Response.json({ success: true, data, meta }, { headers });

/** Returns an error of the API. */
export const failure = (statusCode: number, code: string, headers: HeadersInit = {}) =>
  Response.json(
    { success: false, error: { statusCode, code, message: "a message", details: [], requestId: "req_1" } },
    { status: statusCode, headers },
  );

/** Returns a client, and the requests that its service received. A response that is an Error is no response. */
export function serve(
  respond: (request: Received, index: number) => Response | Error | Promise<Response | Error>,
  options: Partial<ClientOptions> = { apiKey: "svc_live_sk_1" },
) {
  const requests: Received[] = [];
  const client = createClient({
    baseUrl: "https://api.example.com",
    ...options,
    fetch: async (request) => {
      request.signal.throwIfAborted();
      const { method, headers, url, signal } = request;
      const received = {
        method,
        path: url.slice("https://api.example.com".length),
        headers,
        body: await request.text(),
        signal,
      };
      requests.push(received);
      const response = await respond(received, requests.length - 1);
      if (response instanceof Error) throw response;
      return response;
    },
  });
  return { client, requests };
}
