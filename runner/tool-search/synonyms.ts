/**
 * What people say for what tools say, over the vocabulary of APIs in general: `tool word: other words, …`. An entry of
 * several words counts where all of them are in the path or name. One way only: the other words do not find each other.
 */

/** What is done. */
export const VERBS = `
accept: join, agree, approve; access: permission, rights, reach, get at, allowed, use, see, visible
add: append, put, include, attach, grant, give, insert; analysis: analyses, analyse, results, findings; analytics: statistics, usage, stats, often
analyze: analyse; apply: use, activate; approve: accept, allow, confirm, permit, go ahead, authorize, let go, sign off, give ok
assign: responsible, allocate, give, appoint; attach: link, connect, add; block: ban, banned, blocked, blacklist, mute
bypass: skip, circumvent, override; cancel: stop, abort, halt, terminate, end, revoke, interrupt; capture: collect; charge: bill, debit
check: verify, is, whether, validate, confirm, test, did, has, is there, am i, are we, is it, already; clear: empty, reset, wipe
close: finish, done, resolve; compare: difference, diff, versus; configure: set up, setup, settings; connect: link, attach; convert: turn, transform
copy: duplicate, clone; count: number, many, total, how many, number of
create: add, make, new, open, insert, register, write, build, compose, start, generate, post, put, publish, submit, record, place, set up, setup, define, establish, introduce, announce, sign up, open a, start a, make a, request, ask for, add a, launch
decline: reject, refuse, deny
delete: remove, drop, erase, clear, destroy, purge, discard, wipe, scrap, disband, dissolve, trash, get rid of, throw away, take down, kick out, uninstall, unregister, clear off, kick, expel, retire, get rid, throw out, take off, close down, shut down, no longer
delivery: deliver, delivered, sent, arrive, arrived, answer, answered, response; detach: unlink, separate, disconnect, remove
disable: deactivate, turn off, switch off, stop, pause, suspend, stop using; disconnect: unlink; dismiss: reject, ignore, close
dispatch: trigger, start, run, kick; download: export, obtain, fetch, save; duplicate: copy, clone; empty: clear
enable: activate, turn on, switch on, allow, start, start using; export: download, extract, dump; follow: subscribe, track, keep an eye
fork: copy, copies, clone; forward: redirect; generate: create, make, produce
get: read, retrieve, fetch, show, view, describe, see, display, look, lookup, return, obtain, current, tell me, look up, find out, particular, single, details, info, information
grant: give, allow; hide: minimize, conceal; hold: pause; import: load, migrate, ingest, upload; invitation: invite, invited, invitations
invite: ask, invited
list: all, every, each, enumerate, browse, which, who, whose, many, display, names, various, what all, which ones, overview, collection
lock: freeze, restrict, close; login: log in, sign in, signin, authenticate, logon; logout: log out, sign out, signout; mark: flag, set
merge: combine, join, integrate; migrate: move; migration: export, move, migrate; move: transfer, relocate; mute: silence; pause: hold, suspend
pay: payment; pin: stick; ping: test; promote: publish, live; protect: guard, secure; protection: protect, protected, require, rule
provision: buy, create, get; publish: release, announce, live, public; purchase: buy, order; purge: delete, erase, empty; record: tape
redact: erase, remove, hide; redeliver: resend, retry, send again; redirect: forward; refresh: renew; refund: pay back, money back, reimburse
register: sign up, signup, join, enroll; release: give up, free
remove: delete, detach, drop, take off, take away, take out, clear, unlink, kick, evict, exclude, revoke, strip, withdraw, undo, kick out, throw out, no longer, get rid
rename: change name, retitle; render: convert, turn, transform, turn into, translate, format; reopen: open again; reorder: rearrange, sort
reply: answer, respond; reprioritize: reorder, rearrange, change order, priority; request: ask, apply, ask for
rerequest: ask again, rerun, re-run, again, repeat; rerun: re-run, run again, retry, repeat, start over, again, restart, redo; reset: restore
resolve: solve, fix, close; restore: undelete, recover, bring back, undo, reactivate, revert; resume: continue, unpause, restart
retrieve: get, fetch, read, show; review: feedback, code review; revoke: invalidate, cancel, withdraw; rotate: renew, regenerate
run: execute, trigger, start, launch, invoke, dispatch; schedule: plan, later
search: find, query, look, mention, mentioning, containing, contain, matching, look for, popular, look through, search for, mentioned, about
send: deliver, dispatch, text, email, message; set: replace, configure, define, choose, change, make, put, assign; ship: send, deliver
signup: sign up; snooze: postpone; sort: order; star: bookmark, favorite, favourite, like; start: begin, launch, boot, kick off, run
statistics: stats, numbers; stats: statistics, numbers, many, analytics, metrics; stop: halt, end, shut, shut down, kill, pause; submit: send
subscribe: watch, follow, listen; suspend: pause, deactivate, freeze; sync: synchronize, refresh; terminate: end, kill, hang, hang up
transfer: move, hand over, reassign; unassign: remove; unblock: unban, let back; unlock: unfreeze; unstar: take back star, no longer like
unsuspend: reactivate, unfreeze
update: change, edit, modify, set, rename, alter, adjust, rewrite, correct, fix, amend, patch, revise, raise, lower, increase, decrease, extend, reword, retitle, move, switch, replace, save, store, override, tweak, close, reopen, make changes, bring up to date, set to, change to, toggle, turn
upload: attach, send, import, store; validate: valid, check, verify, correct; verify: confirm, check; watch: subscribe, keep an eye`;

/** With what. */
export const NOUNS = `
access control list: allow list, allowlist, whitelist, acl, ip list; access token: token, pat; account: subaccount, profile, subaccounts, customer
acl: allow list, access list; action: actions, ci, workflow; activity: event, events, activities, audit trail, news, changed, who did what, actions
activity log: audit log; add on: addon, addons, add ons; addon: add-on; address: addresses, street, location, postal, city
admin: admins, administrator, administrators; admin enforcement: also for admins, even admins; advisory: advisories, vulnerability, cve, ghsa
agent: agents, bot, ai, support; ai: assistant, question, ask; alert: alerts, warning, vulnerability, finding, findings, problem, problems
allow list: allowlist, whitelist; annotated: annotation; api: openapi, swagger, definition; api key: access key, apikey
app: application, apps, integration, integrations, bot; app installation: where is our app installed; application: app, twiml; apply: job, career
archive: zip, tar; article: post; artifact: output, build output, build result, build results
asset: binary, file, attachment, artifact, thumbnail, resized, image, picture; assignee: responsible, owner, assigned, assignees
attachment: file, attached; attempt: try, attempts; attendee: invited, guests, guest; attestation: attestations, provenance; audio: sound, voice
audit: trail, log; auth: login, log in, sign in, authentication; auth provider: sso, sign in with; auth token: password
authenticated: my, mine, myself; authenticated user: my, mine, me, myself, i; authorized connect: third party apps; autolink: autolinks, ticket links
automated: automatic, automatically, own; available: buy, purchase, free, can buy, offered
available phone number: numbers i can buy, numbers to buy, buyable numbers, could buy, numbers can buy, free numbers, which numbers; backup: snapshot
balance: money, credit, left, funds, remaining; billing: bill, cost, costs, paying, invoice, money, price, spend, bills, spending, spent
blob: file, binary, raw; blocked: banned, bans; blocking: waiting, blocks; blog: post; bot: robot; branch: main, trunk, version
branch protection: protected branch, protect branch, protect; bucket: storage; budget: spending, limit; build: builds, compile; cache: cached, caches
calendar: schedule, agenda, calendars; call: calls, caller, phone, ring, phoned, dial, dialed, dialled, telephone, conversation
caller id: verified number, verify number, callerid; card: cards; cart: basket; category: section, categories, sections
certificate: cert, tls, ssl, certificates; changed files: files changed
changelog: changelogs, what's new, announcement, release notes, new, release note, releases; channel: room, channels, chat; chart: graph
chat: message, conversation; check: ci; checkout: pay online; child: below, sub, nested, under
child team: subteam, subteams, teams below, nested teams; classification: label; classroom: class, school, students; clone: clones, cloned, cloning
code: source; code frequency: lines added, added and removed, additions, deletions, lines, churn
code scanning: scan, codeql, static analysis, scanning, sast; codeowner: codeowners, code owners, owners
codespace: codespaces, cloud dev environment, devcontainer; collaborator: people, person, contributor, access; collaborators: outside, external
collection: table, tables, content type; column: columns; comment: remark, note, feedback, wrote, written, said, reply, typo, discussion
commit: commits; commit activity: commits per week, commits per day, last year; commit comment: under a commit, below a commit
commit signature: signed commits; compare: comparison, difference, differences, between; component: componets, button, buttons, symbol
component set: variants, group of variants, variant; concurrency: parallel; conduct: behaviour, rules, code of conduct
conference: meeting, group call, conference call; config: configuration, setting, settings; configuration: config, settings, setup
connect app: third party apps; contact: person, contacts; container: docker; content: contents, file, files, text
contributor: person, author, people, who; contributor activity: who contributed; conversation: chat, dm, channel, thread; copilot: assistant, ai
country: land, uk, us; coupon: voucher, discount; create call: phone someone, ring someone, dial, make a call, place a call
credential: credentials, login, password, username; credential list: logins; credit: money; current: whoami, who am i
current user: whoami, who am i, myself, me; custom: own; custom block: block, snippet, reusable content; custom page: own page; custom role: roles
customer: client, buyer, buyers, clients, customers; cve: vulnerability; daily: day, days; dashboard: dashboards
database: db, databases, postgres, mysql; date: day, due, when; deal: opportunity, deals; default: standard; default branch: main; definition: spec
dependabot: vulnerable dependencies, outdated dependencies; dependency: dependencies, waiting, depends, blocked, library, libraries, package
dependency graph: sbom, bill of materials; dependent: depend, depend on, using; deploy: deployment
deploy key: read-only ssh key, read only ssh key, ssh key of a repo, server key; deployment: deploy, deploys, rollout, rollouts, shipped
deployment status: did the deploy work; dev resource: dev link, dev links, developer links, link to code, links to code; devcontainer: dev container
diff: difference, differences, changes, changed; directory: folder; discount: coupon, voucher; discussion: conversation
dispute: chargeback, chargebacks; document: doc, file, page; domain: host, hostname, dns, trunk; draft: unpublished, version
droplet: server, vm, machine; due: deadline; email: mail, e-mail, mails, emails, mailbox; email visibility: hide email, email public, email private
emoji: smiley, smileys, emoticon, emoticons, icons, custom; enterprise: company; environment: staging, production, env, stage
environment secret: secret of staging; environment variable: env var
event: activity, events, activities, news, happening, going on, happened, happen, happens, appointment, meeting
extension: plugin, addon, extensions, plugins, addons, module; feature: flag; feature flag: flag; feed: news, timeline
feedback: comment, review, rating, quality; field: fields, attribute, property, column, columns
file: files, document, doc, diff, changed, design, designs, drawing, upload; fill: photo, image; firewall: firewalls
flow: automation, workflow, automations, workflows; folder: directory, folders; follower: followers, follows, following; followers: fans
following: follow; force cancel: stuck run; fork: forks; frequency: often, week; front: next, first; function: functions, lambda, serverless
gist: snippet, paste; gpg: pgp, signing; group: team; guide: guides, tutorial, article, page, docs, documentation, manual, howto; hang up: end
hash: checksum, hashed; health: up, alive, healthy, up and running; history: past, log, previous, changes; hook: webhook, hooks; host: server
hosted runner: hosted runners, hosted machine; ice: stun, turn
image: photo, picture, pic, photos, pictures, icon, thumbnail, render, export, png, svg, jpg, images, snapshot; image upload: picture
immutable: unchangeable, changed; incident: outage; incoming: inbound, our numbers, phone number, receive
incoming phone number: our numbers, my numbers, bought number, numbers we own, buy a number, phone number; ingress: route
insights: statistics, analytics, numbers; installation: installed, install, installations; instance: server, machine, vm, instances, virtual
interaction: interactions, commenting, who can comment; interaction restriction: limit commenting, who can comment; inventory: stock
invitation: pending; inviter: invite; invoice: bill, invoices, bills; ip access control: allow list, allowlist, whitelist; ip address: ip, ips
issue: issues, bug, bugs, ticket, tickets, task, problem; issue comment: under an issue, below an issue; issue event: what happened to an issue
issue field: custom field; issue type: kinds of issues, types of issues, kind
item: items, article, entry, record, row, rows, entries, records, content, articles; job: jobs, task, step, steps
key: keys, apikey, api key, api keys; kubernetes: k8s; label: labels, tag; language: languages, programming, lang; last: previous, latest, recent
last month: previous month; latest: newest, recent, last, most recent; lead: prospect, leads; leak: leaked; legacy: old
license: licence, licensing, mit, gpl; limit: limits, quota, maximum, max, allowance; link: url, mastodon, social; live: current, production
load balancer: lb; local: city, area; location: place, where; locked: lock; log: logs, audit, trail, output, console, logging
machine: machines, vm, computer, hardware, size; machine type: vm size, machine; mapping: map, assign, let, associate; markdown: md; marketplace: shop
me: myself, who am i, whoami; media: picture, image, photo, video, attachment, attachments, pictures; meeting: conference, appointment, event
member: people, person, user, participant, waiting, caller; membership: member, belongs, belong, role; memberships: belong, belongs
merge upstream: sync fork, up to date, upstream; message: sms, text, mms, mail, letter, texts, texted, textmessage, dm, post, posts
meta: metadata, info, edited, ips; metadata: meta, info, information, edited, details; metric: measure, metrics, monitoring; milestone: deadline
mobile: cell, cellphone; month: monthly; monthly: month; node: element, layer, layers, frame, frames, object, server, machine
note: comment, memo, annotation; notification: inbox, alerts, unread, unseen, news, errors, warnings, problems; number: numbers; object: file
oidc: openid; operation: step, steps; order: orders, purchase, bestellung; org: organization, organisation, company, organisations
organization: org, orgs, organisation, company, enterprise, orgnization; outbound: outgoing, firewall; outgoing: outbound, caller id
outgoing caller: verified number, verified caller, verify number; outside collaborator: external people, outsiders, external, freelancer
owlbot: chatbot, bot, assistant; package: packages, container, image, module; package version: container image, image version
page: pages, doc, site, landing; pages: website, site; pages build: site build, website build; panel: widget, panels, widgets; parent: above, belongs
participant: people, person, who, member, caller, attendee, joined, attendees; participation: versus, owner, owner versus; password: passwords
pat: personal access token, tokens; patch: diff; path: paths, popular; payment: pay, paid, card, money, payments, credit card, bought, plugin
payment intent: payment, pay; payment method: card, cards; payout: paid out; pending: waiting, open, outstanding; people: person, persons, user
permission: right, rights, access, allowed, role, permissions; personal access token: pat, pats; phone: telephone, mobile, cell
ping: alive, running, reachable; plan: subscription, tier, price, plans; plugin: extension, addon; pod: pods, container
policy: rule, rules, permission; post: article; preference: settings; premium: paid; presence: online, away
preset: bookmark, saved view, default view, view; price: cost, pricing, prices; private: secret, hidden, nonpublic
product: item, article, goods, products, stock; profile: account; project: board, kanban, projects; property: properties, attribute, field, attributes
protected branch: branch protection; provider: sso, single sign on, oauth; public: visible, open, everybody, everyone; published: shared
pull: pr, prs, merge request; pull comment: inline comment; pull request: pr, prs, merge request, pullrequest, code change, proposed change
punch card: hour of day, time of day, hourly, what time, which hours; queue: waiting, line, queues, waitlist; queue member: waiting caller
quota: limit; rate limit: how many requests, requests left, throttling, api quota; re run: start over, run again, again, rerun
reaction: emoji, thumbs up, thumbs down, heart, reacted, like, upvote, hearts, thumbs, thumbsup, +1; readme: front page, introduction
realtime: live, real time; received: feed, news, follow, timeline; recipe: recipes, steps; record: entry, row, item, dns
recording: recorded, recordings, audio, tape, tapes; ref: reference, branch, tag, pointer; reference: endpoint, api, ref
referrer: referrers, come from, traffic sources, linking; refresh: renew, new access token; refund: refunds, refunded, give money back, pay back
region: regions, location; registration token: register a runner, add a runner, new runner; relation: relations, relationship, foreign key, linked
release: releases, version; reminder: remind; remove token: unregister a runner, unregister; repo: repository, repos, project; report: summary
repository: repo, repos, project, codebase; repository subscription: watching a repo, unwatch
requested reviewer: asked to review, ask to review, who should review, reviewer, reviewers; required status: must pass, have to pass
restriction: restrictions, allowed, may; retention: how long, kept, keep
review comment: comment on a line, line comment, inline comment, inline comments; revision: version, history, change, revisions, versions, changes
role: permission, right, rights, admin, roles, groups; rule: rules, policy, restriction; ruleset: rulesets, rules, rule
runner: runners, machine, worker, agent, machines, build machine, ci machine, build machines; runner group: group of runners; sbom: bill of materials
scan: scanning; scanning: scan; schema: structure, model, data model, tables; search code: find code, code that, which files contain
search commits: find commits; search issues: find issues, find prs, open prs; search users: find people, find users; seat: seats, license, paying
secret: secrets, token, credential, password, confidential; secret scanning: leaked secrets, leaked, leak, leaked credentials; security: safety
security advisory: security advisories, ghsa, security report; security fix: fix pr, fix prs; security manager: security people
selected: chosen, which, particular; server: machine, host, health, alive, version; server health: up and running, alive, healthy; service: services
session: login; setting: settings, configuration, config, option, preferences, options; share: shared, sharing, link; shipment: delivery, parcel
shipping: postage; short code: shortcode, short number; signature: signed, signing, signatures; signing: sign, signed
signing key: sign commits, signed commits; sip: voip; site: website, page; size: big, large; sms: text, message; snapshot: backup, snapshots
snippet: gist; social: mastodon, twitter, facebook, linkedin; social account: social link; space: spaces; spec: specification, openapi
ssh key: public key; star: stars, starred, popularity; stargazer: stargazers, star, starred; state: status; stats: commits, lines
status: state, finished, green, passing, progress, result, mood; status check: required checks, must be green, required check; stock: inventory
storage: space, disk; stream: live, streams, streaming, audio; style: styles, colour, colours, color, colors
sub issue: child task, child tasks, subtask, subtasks, child issue, child issues, children, child, broken down; subfolder: subfolders
subscriber: watching; subscription: plan, notified, notifications, watching a repo, subscriptions, recurring; summary: overview, total, totals
suspended: suspend; tag: label; tarball: tar, archive, source code, download; task: todo, job; tax: vat, taxes; team: group, squad, teams
template: templates, boilerplate; text: plain; tfa: 2fa, mfa, two factor, authenticator, otp; this month: current month
thread: conversation, discussion; thread subscription: mute a conversation, unsubscribe; ticket: issue, case, request; time: when, hours
timeline: history, chronology; token: tokens, credential, secret, jwt, stun, turn, nat; toll free: tollfree, free of charge, freephone, 800
tollfree: freephone; topic: topics; traffic: visits, visitors, views, how often, seen, visited; transaction: payment, transfer
transcript: transcription; transcription: transcript, captions, transcribe, transcriptions, transcripts, written text, speech to text
translation: translations, translate, language; tree: recursively, recursive, every file, files, structure, listing; trigger: alert, alerts, threshold
two factor: 2fa, mfa, tfa, authenticator; type: kind, kinds, sort, types; upstream: original; url: link, address, uri
usage: use, used, uses, consumption, consume, spent, spending, cost, costs, bill
usage record: what did we use, how much used, spend, spent, costs, consumption
usage trigger: spending alert, usage alert, alerts on usage, notified, warn, threshold
user: person, people, account, member, someone, anyone, somebody, profile, users, accounts, colleague, colleagues, login; utility: sort
validation: verify, verification, verified; value: values; variable: variables, setting, token, tokens, design tokens
version: versions, revision, release, history; video: recording; view: views, visits; visibility: visible, public, private; voip: internet
volume: disk, volumes, disks; vulnerability: security, cve, flaw, hole, weakness, bug; watcher: watching; watching: watched
webhook: hook, hooks, callback, subscription, subscriptions, notifications, callbacks, notify us, notified; website: site; week: weekly
workflow: ci, pipeline, automation, action; workflow dispatch: start a workflow, run a workflow, trigger workflow
workflow run: ci run, ci build, pipeline run, ci runs, ci job, ci pipeline, the build, builds, run; yearly: year, annual; zen: wisdom
zipball: zip, archive, source code, download`;
