/** Tells the stack which test asks. Copy it: `fetch` is for SDKs that take one, `headers` for everything else. */

import { getCurrentTest } from 'vitest/suite';

const { STACKPROOF_ID_HEADER, STACKPROOF_TEST_FOLDER, STACKPROOF_INFERENCE_MODE } = process.env;

/** The id of the test that runs: `<folder>/<file>::<describe> > <test>`, as the report names it. */
function current(): { id: string; attempt: number } {
  const test = getCurrentTest();
  if (!test) throw new Error('no test runs here: a call to the stack has to belong to one');
  const names = [test.name];
  for (let suite = test.suite; suite && suite !== test.file; suite = suite.suite) names.unshift(suite.name);
  const id = `${STACKPROOF_TEST_FOLDER}/${test.file.name}::${names.join(' > ')}`;
  return { id, attempt: (test.result?.retryCount ?? 0) + 1 };
}

/** Headers that carry it; none where nothing is recorded or replayed. */
export function headers(): Record<string, string> {
  if (!STACKPROOF_ID_HEADER || STACKPROOF_INFERENCE_MODE === 'live') return {};
  const { id, attempt } = current();
  const text = JSON.stringify({ __test_id: id, ...(attempt > 1 && { __attempt: attempt }) });
  // A header is ASCII; JSON has another way to write the rest.
  const ascii = text.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return { [STACKPROOF_ID_HEADER]: ascii, baggage: `stackproof.scope=${encodeURIComponent(id)}` };
}

export const fetch: typeof globalThis.fetch = (input, init) => {
  const sent = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
  for (const [name, value] of Object.entries(headers())) sent.append(name, value);
  return globalThis.fetch(input, { ...init, headers: sent });
};
