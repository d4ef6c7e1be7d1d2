export { createClient, type Client, type ClientOptions, type Init, type PathWith, type Result } from "./client.js";
export { ComandaError, type Detail, errorOf } from "./error.js";
export type { ErrorCode } from "./generated/operations.js";
export type { components, operations, paths } from "./generated/schema.js";
export { paginate, type ListPath, type Row } from "./paginate.js";
export type { RetryPolicy } from "./retry.js";
export type { SessionOptions, Tokens } from "./session.js";
