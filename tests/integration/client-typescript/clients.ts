/** The SDKs, pointed at the stack. */

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

import { fetch } from './stackproof.js';

export const baseURL = process.env.STACKPROOF_API_BASE_URL ?? 'http://127.0.0.1:8000';
export const textModel = process.env.STACKPROOF_TEXT_MODEL ?? '';
export const toolModel = process.env.STACKPROOF_TOOL_MODEL ?? '';

export const openai = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: 'stackproof', maxRetries: 0, fetch });
export const anthropic = new Anthropic({ baseURL, apiKey: 'stackproof', maxRetries: 0, fetch });
