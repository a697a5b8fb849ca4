// Writes slack.json: what each call of Slack's Web API that nod makes may say, out of the types of Slack's own clients for TypeScript.
//
//	npm i @slack/web-api ts-json-schema-generator typescript@5 && node generate.cjs && gzip -9n slack.json
const fs = require('fs');
const { createGenerator } = require('ts-json-schema-generator');
const calls = {
  'agents.sessions.rename': 'AgentsSessionsRenameArguments',
  'agents.sessions.setStatus': 'AgentsSessionsSetStatusArguments',
  'apps.connections.open': 'AppsConnectionsOpenArguments',
  'apps.manifest.validate': 'AppsManifestValidateArguments',
  'assistant.threads.setStatus': 'AssistantThreadsSetStatusArguments',
  'assistant.threads.setSuggestedPrompts': 'AssistantThreadsSetSuggestedPromptsArguments',
  'assistant.threads.setTitle': 'AssistantThreadsSetTitleArguments',
  'auth.revoke': 'AuthRevokeArguments',
  'auth.test': 'AuthTestArguments',
  'blocks.validate': 'BlocksValidateArguments',
  'bots.info': 'BotsInfoArguments',
  'chat.delete': 'ChatDeleteArguments',
  'chat.getPermalink': 'ChatGetPermalinkArguments',
  'chat.postEphemeral': 'ChatPostEphemeralArguments',
  'chat.postMessage': 'ChatPostMessageArguments',
  'chat.update': 'ChatUpdateArguments',
  'conversations.history': 'ConversationsHistoryArguments',
  'conversations.info': 'ConversationsInfoArguments',
  'conversations.open': 'ConversationsOpenArguments',
  'conversations.replies': 'ConversationsRepliesArguments',
  'files.completeUploadExternal': 'FilesCompleteUploadExternalArguments',
  'files.getUploadURLExternal': 'FilesGetUploadURLExternalArguments',
  'files.info': 'FilesInfoArguments',
  'oauth.v2.access': 'OAuthV2AccessArguments',
  'usergroups.list': 'UsergroupsListArguments',
  'users.conversations': 'UsersConversationsArguments',
  'users.info': 'UsersInfoArguments',
  'views.open': 'ViewsOpenArguments',
  'views.publish': 'ViewsPublishArguments',
  'views.push': 'ViewsPushArguments',
  'views.update': 'ViewsUpdateArguments',
};
let text = "import type * as W from '@slack/web-api';\n";
for (const [method, type] of Object.entries(calls)) text += `export type ${method.replaceAll('.', '_')} = W.${type};\n`;
fs.writeFileSync('calls.ts', text);
const generator = createGenerator({ path: 'calls.ts', jsDoc: 'none', skipTypeCheck: true });
const $defs = {}; // a schema for each call: two types of different calls may have one name
for (const method in calls) {
  const schema = generator.createSchema(method.replaceAll('.', '_'));
  if (schema.definitions.Block) schema.definitions.Block = false; // lets any block through that has nothing in it
  $defs[method] = { $id: method, ...schema };
}
// A manifest's scopes and events are lists of hundreds, and shorter than the documentation's.
const names = (_, v) => (v?.enum?.length > 40 ? { type: 'string' } : v);
fs.writeFileSync('slack.json', JSON.stringify({ $defs }, names));
