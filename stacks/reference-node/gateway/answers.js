/** Errors as the gateway says them, in the shape of the API that was called. */

import * as anthropic from '@anthropic-ai/sdk';
import * as openai from 'openai';

// What tells a client whether and when to ask again; everything else in a provider's headers is between it and us.
const PASSED_ON = ['content-type', 'x-should-retry', 'retry-after', 'retry-after-ms'];
const KINDS = { 400: 'invalid_request_error', 404: 'not_found_error', 405: 'invalid_request_error' };

/** Whose API was called. */
export const Dialect = Object.freeze({ OPENAI: 'openai', ANTHROPIC: 'anthropic' });

/** A request that the gateway answers by itself. */
export class RefusedError extends Error {
  constructor(status, message, { code = null, param = null } = {}) {
    super(message);
    Object.assign(this, { status, code, param });
  }
}

/** The error object of OpenAI's or of Anthropic's API. */
export function errorBody(dialect, status, message, { code = null, param = null } = {}) {
  const type = KINDS[status] ?? 'api_error';
  return dialect === Dialect.ANTHROPIC
    ? { type: 'error', error: { type, message } }
    : { error: { message, type, param, code } };
}

/** An event that tells the reader of a stream, whose status is out already, what went wrong. */
export function errorEvent(dialect, message) {
  const name = dialect === Dialect.ANTHROPIC ? 'event: error\n' : '';
  return `${name}data: ${JSON.stringify(errorBody(dialect, 502, message))}\n\n`;
}

/** What was raised, as status, headers and JSON body: a refusal, a provider's answer as it was, or that there was none. */
export function toldAs(dialect, provider, error) {
  if (error instanceof RefusedError) {
    return { status: error.status, headers: {}, body: errorBody(dialect, error.status, error.message, error) };
  }
  if (error instanceof openai.APIConnectionTimeoutError || error instanceof anthropic.APIConnectionTimeoutError) {
    return { status: 504, headers: {}, body: errorBody(dialect, 504, noAnswer(provider, error)) };
  }
  if ((error instanceof openai.APIError || error instanceof anthropic.APIError) && error.status !== undefined) {
    const present = PASSED_ON.filter((name) => error.headers?.get(name));
    const headers = Object.fromEntries(present.map((name) => [name, error.headers.get(name)]));
    return { status: error.status, headers, body: bodyOf(dialect, error) };
  }
  return { status: 502, headers: {}, body: errorBody(dialect, 502, noAnswer(provider, error)) };
}

/** One sentence about a connection that failed, with the reason that fetch gave. */
export function noAnswer(provider, error) {
  const reason = error.cause ?? error;
  const inner = reason.cause ?? reason;
  return `The provider '${provider}' gave no answer: ${inner.name}: ${inner.message}`;
}

/** The provider's own body: OpenAI's SDK holds what is in its `error`, Anthropic's the whole. */
function bodyOf(dialect, error) {
  if (error.error === undefined || error.error === null) return errorBody(dialect, error.status, error.message);
  return error instanceof openai.APIError ? { error: error.error } : error.error;
}
