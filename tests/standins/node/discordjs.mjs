// A bot on discord.js, written as its guide shows, for tests/standins/fakediscord/second_test.go: a stand-in that only discordgo understands
// would be no Discord. It says what it does, one line each; the test does what people do and looks.
import {
  ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, ContainerBuilder, Events, GatewayIntentBits, MessageFlags, ModalBuilder, Partials,
  SlashCommandBuilder, TextDisplayBuilder, TextInputBuilder, TextInputStyle,
} from 'discord.js';

const say = (...words) => console.log(...words);
const client = new Client({
  intents: [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages, GatewayIntentBits.DirectMessages, GatewayIntentBits.MessageContent],
  partials: [Partials.Channel], // a DM's channel is not known before
  rest: { api: process.env.DISCORD_API },
});

function card(text, asking) {
  const box = new ContainerBuilder().setAccentColor(0xffaa00).addTextDisplayComponents(new TextDisplayBuilder().setContent(text));
  if (asking) {
    box.addActionRowComponents(new ActionRowBuilder().addComponents(
      new ButtonBuilder().setCustomId('yes').setLabel('Allow once').setStyle(ButtonStyle.Secondary),
      new ButtonBuilder().setCustomId('why').setLabel('Deny').setStyle(ButtonStyle.Danger),
    ));
  }
  return { components: [box], flags: MessageFlags.IsComponentsV2, allowedMentions: { parse: [] } };
}

client.on(Events.ClientReady, async () => {
  await client.application.commands.set([
    new SlashCommandBuilder().setName('nod').setDescription('ask').addSubcommand((c) =>
      c.setName('ask').setDescription('ask something').addStringOption((o) => o.setName('text').setDescription('what').setRequired(true))),
  ]);
  say('ready', client.user.id, [...client.guilds.cache.keys()].join());
});

client.on(Events.MessageCreate, async (m) => {
  if (m.author.bot || (m.guild && !m.mentions.has(client.user))) return;
  say('heard', m.author.id, m.cleanContent);
  const to = m.guild ? await m.startThread({ name: 'a thread', autoArchiveDuration: 1440 }) : m.channel;
  await to.sendTyping();
  const sent = await to.send({ ...card('May I?', true), nonce: m.id, enforceNonce: true });
  say('asked', sent.id);
});

client.on(Events.InteractionCreate, async (i) => {
  if (i.isButton() && i.customId === 'yes') {
    await i.update(card(`Allowed by ${i.user.username}`, false));
    await i.followUp({ content: 'thank you', flags: MessageFlags.Ephemeral });
    await i.message.edit(card('All done.', false));
    const back = await i.channel.messages.fetch(i.message.id);
    say('edited', back.id, back.components.length, back.editedTimestamp > 0);
  } else if (i.isButton()) {
    await i.showModal(new ModalBuilder().setCustomId('reason').setTitle('Why?').addComponents(
      new ActionRowBuilder().addComponents(new TextInputBuilder().setCustomId('words').setLabel('Reason').setStyle(TextInputStyle.Paragraph)),
    ));
    say('opened');
  } else if (i.isModalSubmit()) {
    await i.deferUpdate();
    await i.message.edit(card(`Denied: ${i.fields.getTextInputValue('words')}`, false));
    say('denied');
  } else if (i.isChatInputCommand()) {
    const answer = await i.reply({ content: `asked: ${i.options.getString('text')}`, withResponse: true });
    say('commanded', i.options.getSubcommand(), answer.resource.message.id);
  }
});

client.on(Events.ShardResume, () => say('resumed'));
client.on(Events.ShardReady, () => say('shard ready'));
client.on(Events.Error, (e) => say('error', e.message));
process.on('SIGTERM', async () => { await client.destroy(); process.exit(0); });
await client.login(process.env.DISCORD_TOKEN);
