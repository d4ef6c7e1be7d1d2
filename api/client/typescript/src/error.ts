import type { components } from "./generated/schema.js";
import type { ErrorCode } from "./generated/operations.js";

/** A fault of one member of a request, for example of `items[0].quantity`. */
export type Detail = components["schemas"]["Detail"];

export interface ErrorContent {
  status: number;
  code: ErrorCode;
  message: string;
  details?: readonly Detail[];
  allowedTransitions?: readonly string[];
  requestId?: string | undefined;
  retryAfter?: number | undefined;
  cause?: unknown;
}

/**
 * An error response of the API. If no response arrived, the status is 0, the code is `UNREACHABLE`, and `cause` is the
 * error of `fetch`. A response whose body breaks counts as none. The code of a response that is not the API's, for
 * example of a proxy, is `UNKNOWN`.
 */
export class ComandaError extends Error {
  override readonly name = "ComandaError";
  readonly status: number;
  readonly code: ErrorCode;
  readonly details: readonly Detail[];
  /** The possible statuses if the code is `INVALID_TRANSITION`. */
  readonly allowedTransitions: readonly string[];
  /** The id of the request in the logs of the service. */
  readonly requestId: string | undefined;
  /** The seconds after which the request may be repeated, if the service named them. */
  readonly retryAfter: number | undefined;

  constructor(content: ErrorContent) {
    const { status, code, message, details = [], allowedTransitions = [], requestId, retryAfter, cause } = content;
    super(message, cause === undefined ? undefined : { cause });
    this.status = status;
    this.code = code;
    this.details = details;
    this.allowedTransitions = allowedTransitions;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** Returns the error of a response that is not successful. It reads the body. */
export async function errorOf(response: Response): Promise<ComandaError> {
  const error = await errorMember(response);
  const wait = retryDelay(response);
  return new ComandaError({
    status: response.status,
    code: text(error.code) ?? "UNKNOWN",
    message: text(error.message) ?? `the service responded with status ${response.status}`,
    details: list<Detail>(error.details),
    allowedTransitions: list<string>(error.allowedTransitions),
    requestId: text(error.requestId) ?? response.headers.get("X-Request-Id") ?? undefined,
    retryAfter: wait === undefined ? undefined : Math.ceil(wait / 1000),
  });
}

/** Parses the body of a successful response. Throws a ComandaError if it is not JSON. */
export function parse(body: string, response: Response): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    const requestId = response.headers.get("X-Request-Id") ?? undefined;
    throw new ComandaError({
      status: response.status,
      code: "UNKNOWN",
      message: "the response is not JSON",
      requestId,
      cause,
    });
  }
}

/** Returns the code of an error response without reading its body, undefined if the response is not the API's. */
export const codeOf = async (response: Response) => text((await errorMember(response.clone())).code);

const text = (value: unknown) => (typeof value === "string" ? value : undefined);
const list = <T>(value: unknown) => (Array.isArray(value) ? (value as T[]) : []);

/** Returns the member `error` of a body, or an empty object. */
async function errorMember(response: Response): Promise<Record<string, unknown>> {
  try {
    const { error } = (await response.json()) as { error?: unknown };
    return typeof error === "object" && error !== null ? (error as Record<string, unknown>) : {};
  } catch {
    return {}; // a proxy's response, not the API's
  }
}

/** Returns the milliseconds of the header Retry-After, which has seconds or a date. */
export function retryDelay(response: Response): number | undefined {
  const value = response.headers.get("Retry-After")?.trim();
  if (!value) return undefined;
  const delay = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(delay) ? undefined : Math.max(0, delay);
}
