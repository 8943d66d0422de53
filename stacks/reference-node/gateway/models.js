/** The model list: every configured provider's own, with the provider's name in front of each id. */

import { RefusedError } from './answers.js';

/** All models in OpenAI's list form. One provider's failure fails the list: a part of it would look whole. */
export async function models(clients, options, at) {
  const listed = [];
  for (const [name, each] of clients) {
    at.provider = name;
    const asked = each.provider.ownModels
      ? each.anthropic.models.list({ limit: 1000 }, options)
      : each.openai.models.list(options);
    const upstream = await asked.asResponse();
    let data;
    try {
      ({ data } = await upstream.json());
      data = data.map((model) => ({ object: 'model', ...model, id: `${name}/${model.id}` }));
    } catch {
      throw new RefusedError(502, `The provider '${name}' answered with something that is no list of models.`);
    }
    listed.push(...data);
  }
  return { object: 'list', data: listed };
}
