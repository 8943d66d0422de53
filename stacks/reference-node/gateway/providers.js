/** Which providers the gateway knows, and which of them an environment configures: the table of the Python stack. */

// SDKs refuse to be made without a key, also for servers that ask for none.
const NO_KEY = 'no-key';

/**
 * One row for each provider. url, key: names of environment variables; without the first the provider is absent.
 * openaiPath: what lies between that URL and the paths of OpenAI's API. anthropic: `/v1/messages` is served too, from
 * where the URL's trailing `/v1` begins. ownModels: the model list exists in Anthropic's form only.
 */
const ROWS = [
  { name: 'ollama', url: 'OLLAMA_URL', anthropic: true },
  { name: 'llama-cpp', url: 'LLAMA_CPP_URL', anthropic: true },
  { name: 'vllm', url: 'VLLM_URL', key: 'VLLM_API_TOKEN', anthropic: true },
  { name: 'tgi', url: 'TGI_URL' },
  { name: 'openai', url: 'OPENAI_BASE_URL', key: 'OPENAI_API_KEY' },
  {
    name: 'anthropic', url: 'ANTHROPIC_BASE_URL', key: 'ANTHROPIC_API_KEY', openaiPath: '/v1', anthropic: true,
    ownModels: true,
  },
  { name: 'groq', url: 'GROQ_URL', key: 'GROQ_API_KEY' },
  { name: 'together', url: 'TOGETHER_URL', key: 'TOGETHER_API_KEY' },
  { name: 'fireworks', url: 'FIREWORKS_URL', key: 'FIREWORKS_API_KEY' },
  { name: 'cerebras', url: 'CEREBRAS_URL', key: 'CEREBRAS_API_KEY' },
];

/** The providers whose URL is set, in the order of ROWS, with base URLs as the SDKs want them. */
export function configured(environ) {
  return ROWS.filter((row) => environ[row.url]).map((row) => {
    const url = environ[row.url].replace(/\/+$/, '');
    return {
      name: row.name,
      openaiUrl: url + (row.openaiPath ?? ''),
      // Anthropic's SDK writes the /v1 of its paths itself.
      anthropicUrl: row.anthropic ? url.replace(/\/v1$/, '') : null,
      key: (row.key && environ[row.key]) || NO_KEY,
      ownModels: row.ownModels ?? false,
    };
  });
}
