/**
 * Maps words used by APIs to words chosen by users: `tool word: other words, …`. An entry of several words matches if
 * the path or name contains all of them. Synonyms do not find each other.
 */

export const VERBS = `
accept: join, agree, approve, take; access: permission, rights, reach, get at, allowed, use, see, visible
add: append, put, include, attach, grant, give, insert, put on, join, assign, tag; analysis: analyses, analyse, results, findings
analytics: statistics, usage, stats, often; analyze: analyse; apply: use, activate
approve: accept, allow, confirm, permit, go ahead, authorize, let go, sign off, give ok, lgtm, looks good, go through; archive: read only, freeze, mothball
assign: responsible, allocate, give, appoint; attach: link, connect, add; block: ban, banned, blocked, blacklist, mute, keep out, lock out, prevent, exclude, shut
bypass: skip, circumvent, override; cancel: stop, abort, halt, terminate, end, revoke, interrupt, call off, hang up, kill, drop, stop running; capture: collect
charge: bill, debit
check: verify, is, whether, validate, confirm, test, did, has, is there, am i, are we, is it, already, has been, have we, do i, do we, does, can i, allowed, may, still
clear: empty, reset, wipe; close: finish, done, resolve; compare: difference, diff, versus, what changed between, changed between, difference between
configure: set up, setup, settings; connect: link, attach; convert: turn, transform; copy: duplicate, clone
count: number, many, total, how many, number of, how much, amount
create: add, make, new, open, insert, register, write, build, compose, start, generate, post, put, publish, submit, record, place, set up, setup, define, establish, introduce, announce, sign up, open a, start a, make a, request, ask for, add a, launch, report, raise, file, say, leave, hand, issue, draft, plan, hire, found, kick, hand out, put up, bring in, come up with, write a, give me a, spin, spin up, schedule
decline: reject, refuse, deny
delete: remove, drop, erase, clear, destroy, purge, discard, wipe, scrap, disband, dissolve, trash, get rid of, throw away, take down, kick out, uninstall, unregister, clear off, kick, expel, retire, get rid, throw out, take off, close down, shut down, no longer, get away with, do away with, unsubscribe, eliminate, kill, dump, bin, clean up, dismantle, take
delivery: deliver, delivered, sent, arrive, arrived, answer, answered, response; deploy: ship, roll out; detach: unlink, separate, disconnect, remove
disable: deactivate, turn off, switch off, stop, pause, suspend, stop using, no more, any more, any longer, forbid, prevent; disconnect: unlink
dismiss: reject, ignore, close, throw out, discard, wave, false; dispatch: trigger, start, run, kick; download: export, obtain, fetch, save, as a zip, get a copy, backup
duplicate: copy, clone; empty: clear; enable: activate, turn on, switch on, allow, start, start using, from now on, automatically
export: download, extract, dump, get out, backup, copy; feedback: rate; follow: subscribe, track, keep an eye, keep up with; fork: copy, copies, clone; forward: redirect
generate: create, make, produce, come up with, draft
get: read, retrieve, fetch, show, view, describe, see, display, look, lookup, return, obtain, current, tell me, look up, find out, particular, single, details, info, information, look at, what does, what is, read out, inspect, show me, contents, check, what's in, how does, status
grant: give, allow; hide: minimize, conceal; hold: pause; import: load, migrate, ingest, upload, bring in, from another; invitation: invite, invited, invitations
invite: ask, invited, bring in, ask to join, onboard
list: all, every, each, enumerate, browse, which, who, whose, many, display, names, various, what all, which ones, overview, collection, what are, show me all, go through, who are, who can, history
lock: freeze, restrict, close, nobody can comment, stop comments, no more comments; login: log in, sign in, signin, authenticate, logon
logout: log out, sign out, signout; mark: flag, set, tick; merge: combine, join, integrate, squash, rebase, land; migrate: move; migration: export, move, migrate
move: transfer, relocate; mute: silence; pause: hold, suspend, put on hold; pay: payment; pin: stick, keep on top, to the top, top; ping: test; promote: publish, live
protect: guard, secure; protection: protect, protected, require, rule; provision: buy, create, get; publish: release, announce, live, public, go live, make public, share
purchase: buy, order; purge: delete, erase, empty; record: tape; redact: erase, remove, hide; redeliver: resend, retry, send again; redirect: forward; refresh: renew
refund: pay back, money back, reimburse; register: sign up, signup, join, enroll; release: give up, free
remove: delete, detach, drop, take off, take away, take out, clear, unlink, kick, evict, exclude, revoke, strip, withdraw, undo, kick out, throw out, no longer, get rid, no more, not any more, any more, any longer, leave, quit, take back, fire
rename: change name, retitle, new name, call it, call something; render: convert, turn, transform, turn into, translate, format; reopen: open again
reorder: rearrange, sort; reply: answer, respond; reprioritize: reorder, rearrange, change order, priority; request: ask, apply, ask for
rerequest: ask again, rerun, re-run, again, repeat, redo; rerun: re-run, run again, retry, repeat, start over, again, restart, redo; reset: restore
resolve: solve, fix, close; restore: undelete, recover, bring back, undo, reactivate, revert, by mistake, by accident, accidentally deleted, get back, revive
resume: continue, unpause, restart, carry on; retrieve: get, fetch, read, show; review: feedback, code review
revoke: invalidate, cancel, withdraw, no longer valid, log out, leaked, compromised; roll back: undo, revert; rotate: renew, regenerate, new secret, change secret
run: execute, trigger, start, launch, invoke, dispatch; schedule: plan, later
search: find, query, look, mention, mentioning, containing, contain, matching, look for, popular, look through, search for, mentioned, about, anything about, all about, named, called
send: deliver, dispatch, text, email, message, whatsapp; set: replace, configure, define, choose, change, make, put, assign; ship: send, deliver; signup: sign up
snooze: postpone; sort: order, rearrange; star: bookmark, favorite, favourite, like, thumbs up; start: begin, launch, boot, kick off, run; statistics: stats, numbers
stats: statistics, numbers, many, analytics, metrics; stop: halt, end, shut, shut down, kill, pause; submit: send, finish, hand
subscribe: watch, follow, listen, keep me posted, let me know, be told, alert; suspend: pause, deactivate, freeze, put on hold; sync: synchronize, refresh
terminate: end, kill, hang, hang up; test: try; transfer: move, hand over, reassign, give to, new owner, change owner; trigger: kick off, fire; unassign: remove
unblock: unban, let back, forgive, readmit; unlock: unfreeze; unpublish: take offline, offline; unstar: take back star, no longer like
unsubscribe: stop notifying, stop emailing, no more mails; unsuspend: reactivate, unfreeze; unwatch: stop watching
update: change, edit, modify, set, rename, alter, adjust, rewrite, correct, fix, amend, patch, revise, raise, lower, increase, decrease, extend, reword, retitle, move, switch, replace, save, store, override, tweak, close, reopen, make changes, bring up to date, set to, change to, toggle, turn, bring up, refine, switch to, reassign, mark as, set as, flip, swap, expand, shorten, renew
update branch: up to date with main, catch up, bring a branch; upload: attach, send, import, store, push; validate: valid, check, verify, correct, lint
verify: confirm, check; watch: subscribe, keep an eye, keep me posted`;

export const NOUNS = `
access control list: allow list, allowlist, whitelist, acl, ip list; access restriction: who can push, who may push, push to main, allowed to push
access token: token, pat; account: subaccount, profile, subaccounts, customer, sub account, sub accounts, close account; acl: allow list, access list
action: actions, ci, workflow; actions cache: ci cache, build cache; actions permission: who can run actions, allow actions, actions allowed
activity: event, events, activities, audit trail, news, changed, who did what, actions; activity log: audit log, who did what, what happened in the org, audits
add label: label an, label a, tag an issue, put a label; add on: addon, addons, add ons; addon: add-on; address: addresses, street, location, postal, city
admin: admins, administrator, administrators; admin enforcement: also for admins, even admins; advisory: advisories, vulnerability, cve, ghsa
agent: agents, bot, ai, support; agent task: asked to do, coding agent, copilot task, copilot agent, the agent; ai: assistant, question, ask
alert: alerts, warning, vulnerability, finding, findings, problem, problems; allow list: allowlist, whitelist; annotated: annotation
api: openapi, swagger, definition, openapi file, api definition, api spec, swagger file; api key: access key, apikey; api version: versions of the api, rest versions
app: application, apps, integration, integrations, bot; app installation: where is our app installed, installed apps, which apps, apps installed, is our app installed
app token: token of the app; application: app, twiml; apply: job, career, work for you, application; archive: zip, tar; article: post
artifact: output, build output, build result, build results; asset: binary, file, attachment, artifact, thumbnail, resized, image, picture
assignee: responsible, owner, assigned, assignees, responsible for, assigned to, works on, in charge; attachment: file, attached; attempt: try, attempts
attendee: invited, guests, guest; attestation: attestations, provenance, where was it built, build proof; audio: sound, voice; audit: trail, log; audit log: who did what
auth: login, log in, sign in, authentication; auth provider: sso, sign in with; auth token: password; authenticated: my, mine, myself
authenticated user: my, mine, me, myself, i, about me, i am, am i, i have, i own, do i, i get, i watch, i follow, i star; authorized connect: third party apps
autolink: autolinks, ticket links, jira links, ticket numbers, link tickets; automated: automatic, automatically, own
automated security fix: fix prs, dependabot prs, security updates, update prs; available: buy, purchase, free, can buy, offered
available phone: numbers available, numbers for sale, find a number, search numbers
available phone number: numbers i can buy, numbers to buy, buyable numbers, could buy, numbers can buy, free numbers, which numbers; backup: snapshot
balance: money, credit, left, funds, remaining; billing: bill, cost, costs, paying, invoice, money, price, spend, bills, spending, spent
billing usage: what do we pay, how much do we pay, costs this month, how much did we spend; blob: file, binary, raw; block user: keep someone out, ban someone, ban a user
blocked: banned, bans; blocked user: who did i block, people i blocked, banned people; blocking: waiting, blocks; blog: post; bot: robot
branch: main, trunk, version, docs version, version of the docs, new version
branch protection: protected branch, protect branch, protect, force push, rules of main, protect main, main is protected, protection of main
branch rule: which rules, rules of a branch; bucket: storage; budget: spending, limit, spending cap, spending limit; build: builds, compile; cache: cached, caches
calendar: schedule, agenda, calendars; call: calls, caller, phone, ring, phoned, dial, dialed, dialled, telephone, conversation, live call, phone call, hang up
call event: what happened on a call, requests during a call
call recording: record a call, recordings of a call, recording of a call, start recording, stop recording, tape a call; call summary: quality of a call
caller id: verified number, verify number, callerid; card: cards; career: open positions, work for you, jobs, vacancies; cart: basket
category: section, categories, sections, section of the docs; category page: pages in a category, guides in a category, pages of a section, docs in a section
certificate: cert, tls, ssl, certificates; changed files: files changed
changelog: changelogs, what's new, announcement, release notes, new, release note, releases, product news, update post, release post; channel: room, channels, chat
chart: graph; chat: message, conversation; check: ci; check merged: been merged, already merged, is merged, get merged; checkout: pay online
child: below, sub, nested, under; child team: subteam, subteams, teams below, nested teams, sub teams; classification: label; classroom: class, school, students
clone: clones, cloned, cloning; code: source; code frequency: lines added, added and removed, additions, deletions, lines, churn, lines removed
code of conduct: behaviour; code owner: codeowners file, codeowners; code scanning: scan, codeql, static analysis, scanning, sast
code scanning alert: security problems in the code, code problems, security bugs; codeowner: codeowners, code owners, owners
codespace: codespaces, cloud dev environment, devcontainer, dev machine, development environment, cloud workspace; codespace machine: bigger codespace, size of codespace
collaborator: people, person, contributor, access, access to the repo, access to this repo, contributors, helper, people with access
collaborator permission: what access, access level, what rights, which rights, can write; collaborators: outside, external; collection: table, tables, content type
column: columns; combined status: is green, is this green, green, passing, build passing, ci status
comment: remark, note, feedback, wrote, written, said, reply, typo, discussion; comment reaction: reacted to, reacted, emoji; commit: commits, last change, change
commit activity: commits per week, commits per day, last year, commits in the last year, per week
commit comment: under a commit, below a commit, comment on a commit, remark on a commit; commit pull: which pr, pr of a commit, which pull request
commit signature: signed commits; community profile: health of the project, missing community files; compare: comparison, difference, differences, between
compare commit: diff between, between two branches, between two tags, what changed between, ahead of, behind main; component: componets, button, buttons, symbol
component set: variants, group of variants, variant; concurrency: parallel; conduct: behaviour, rules, code of conduct; conference: meeting, group call, conference call
conference participant: on the conference, in the conference, join the conference, mute someone, kick from conference, who's on, who is on
conference recording: recordings of a conference, record the conference; config: configuration, setting, settings; configuration: config, settings, setup
connect app: third party apps, third party; contact: person, contacts; container: docker; content: contents, file, files, text; contributor: person, author, people, who
contributor activity: who contributed; contributor stat: who wrote the most, most commits, lines did each person, who contributed most
conversation: chat, dm, channel, thread; copilot: assistant, ai; copilot metric: copilot usage, how much is copilot used, copilot used
copilot seat: who uses copilot, copilot licences, copilot licenses, paying for copilot; country: land, uk, us; coupon: voucher, discount
create call: phone someone, ring someone, dial, make a call, place a call, call someone, call a customer, call a number, ring a, phone a, dial a
create comment: comment on, leave a comment, reply to, say something, leave feedback, write under; create fork: fork a, fork this, fork the, copy a repo, copy this repo
create message: send a text, text someone, send sms, text a customer, send a message, send an sms
create reaction: react to, react with, thumbs up, add a heart, give a heart, like a; create ref: new branch, make a branch, create a branch, branch off, new tag
create review: approve a pr, request changes, review a pr, approve the pr, approve pull request, approve a pull; credential: credentials, login, password, username
credential list: logins; credit: money; current: whoami, who am i; current user: whoami, who am i, myself, me; custom: own; custom block: block, snippet, reusable content
custom page: own page; custom property: extra fields, metadata; custom role: roles; customer: client, buyer, buyers, clients, customers; cve: vulnerability
daily: day, days; dashboard: dashboards; database: db, databases, postgres, mysql; date: day, due, when; deal: opportunity, deals; default: standard
default branch: main, main branch; definition: spec; delete reaction: take back my, undo my
delete ref: delete a branch, remove a branch, drop a branch, get rid of a branch; dependabot: vulnerable dependencies, outdated dependencies
dependency: dependencies, waiting, depends, blocked, library, libraries, package; dependency graph: sbom, bill of materials, dependencies, depends on
dependent: depend, depend on, using; dependent phone number: numbers using an address, numbers use; deploy: deployment
deploy key: read-only ssh key, read only ssh key, ssh key of a repo, server key, read only key, ssh key of the repo, key for deploying
deployment: deploy, deploys, rollout, rollouts, shipped; deployment status: did the deploy work, deploy succeeded, deploy failed, deploy worked, deploy done
dev resource: dev link, dev links, developer links, link to code, links to code, link to the code, jira link, links on a node; devcontainer: dev container
diff: difference, differences, changes, changed; directory: folder; discount: coupon, voucher; discussion: conversation
dispatch event: custom event, trigger from outside; dispute: chargeback, chargebacks; document: doc, file, page; domain: host, hostname, dns, trunk
draft: unpublished, version; droplet: server, vm, machine; due: deadline; email: mail, e-mail, mails, emails, mailbox, inbox
email visibility: hide email, email public, email private; emoji: smiley, smileys, emoticon, emoticons, icons, custom, smilies, emojis; enterprise: company
environment: staging, production, env, stage; environment secret: secret of staging, production secret, staging secret; environment variable: env var
event: activity, events, activities, news, happening, going on, happened, happen, happens, appointment, meeting
extension: plugin, addon, extensions, plugins, addons, module; failed invitation: expired invitations; feature: flag; feature flag: flag; feed: news, timeline, atom, rss
feedback: comment, review, rating, quality; field: fields, attribute, property, column, columns
file: files, document, doc, diff, changed, design, designs, drawing, upload
file content: commit a file, write a file, change a file, edit a file, put a file, upload a file, save a file
file meta: who last edited, last edited, last modified, when was it changed; file node: part of a file, specific layers, some layers, one frame
file version: old versions, version history, earlier versions, history of a file; fill: photo, image; firewall: firewalls
flow: automation, workflow, automations, workflows; folder: directory, folders; follower: followers, follows, following, follows me, follow me; followers: fans
following: follow; force cancel: stuck run; fork: forks; fork pr: outside contributors, first time contributors, prs from forks; frequency: often, week
front: next, first; function: functions, lambda, serverless; generate release note: release notes, write the changelog, what changed since
get content: read a file, show a file, open a file, what's in a file, contents of a file, folder contents; gist: snippet, paste, pastebin, snippets
gist comment: under a gist, below a gist, comment on a gist; gist commit: gist history, history of a gist, versions of a gist; gist star: starred gist, bookmark a gist
git ref: branch pointer, new branch, create branch, make a branch, delete branch, remove a branch; git tag: annotated tag; git tree: every file, recursive
gitignore template: ignore file, ignored files; gpg: pgp, signing; gpg key: commit signing, pgp; group: team
guide: guides, tutorial, article, page, docs, documentation, manual, howto, docs page, doc page, a page, page in the docs, documentation page; hang up: end
hash: checksum, hashed; health: up, alive, healthy, up and running; history: past, log, previous, changes; hook: webhook, hooks; host: server
hosted runner: hosted runners, hosted machine, bigger runner, larger runner; hovercard: context about a person; ice: stun, turn
image: photo, picture, pic, photos, pictures, icon, thumbnail, render, export, png, svg, jpg, images, snapshot, screenshot, as png, as svg, export frame
image fill: photos, images placed; image upload: picture; immutable: unchangeable, changed; incident: outage; incoming: inbound, our numbers, phone number, receive
incoming phone number: our numbers, my numbers, bought number, numbers we own, buy a number, phone number, new number, our number, give up a number, phone numbers we have, numbers do we have, our phone number
ingress: route; insights: statistics, analytics, numbers; installation: installed, install, installations; installation token: token for the app, act as the app
instance: server, machine, vm, instances, virtual; interaction: interactions, commenting, who can comment
interaction restriction: limit commenting, who can comment, who may comment, only collaborators may comment, calm down, limit interactions, heated; inventory: stock
invitation: pending; inviter: invite; invoice: bill, invoices, bills; ip access control: allow list, allowlist, whitelist
ip access control list: allowed ips, ip allow list, ip whitelist, allow list for sip, ip list; ip address: ip, ips, one ip, an ip, ips on the list
issue: issues, bug, bugs, ticket, tickets, task, problem; issue assignee: assigned to, who works on, take this issue, works on
issue comment: under an issue, below an issue, comment on an issue, reply to an issue, say something, answer an issue; issue event: what happened to an issue
issue field: custom field, priority field, custom fields, extra field; issue timeline: everything that happened, history of an issue
issue type: kinds of issues, types of issues, kind, category, kinds, bug, feature; item: items, article, entry, record, row, rows, entries, records, content, articles
job: jobs, task, step, steps; job log: build log, ci log, ci output, build output, job output, failed job; key: keys, apikey, api key, api keys; kubernetes: k8s
label: labels, tag, categories, colour; language: languages, programming, lang, written in, what language, which language; last: previous, latest, recent
last month: previous month; latest: newest, recent, last, most recent; latest release: newest version, current version, latest version, newest release, last release
lead: prospect, leads; leak: leaked; legacy: old; library analytics: how often used, usage of the library, used our library, is our library
license: licence, licensing, mit, gpl, open source licence, which licence, licence of; limit: limits, quota, maximum, max, allowance; link: url, mastodon, social
list account: our subaccounts; list branches: all branches, which branches
list commits: what commits, which commits, commit history, latest commits, recent commits, last commits, who committed
list files: changed files, which files, what files, files changed, files does; list followed: do i follow, i follow, follows
list releases: past releases, release history, all releases; live: current, production; load balancer: lb; local: city, area
local variable: design tokens, variables of a file, colour variables; location: place, where; locked: lock; log: logs, audit, trail, output, console, logging
machine: machines, vm, computer, hardware, size; machine type: vm size, machine; mapping: map, assign, let, associate; markdown: md, to html, formatted; marketplace: shop
me: myself, who am i, whoami; media: picture, image, photo, video, attachment, attachments, pictures; meeting: conference, appointment, event
member: people, person, user, participant, waiting, caller; membership: member, belongs, belong, role; memberships: belong, belongs
merge upstream: sync fork, up to date, upstream; merged: landed; message: sms, text, mms, mail, letter, texts, texted, textmessage, dm, post, posts
message feedback: message arrived, confirm delivery; message media: picture in a message, pictures of an mms, attachments
meta: metadata, info, edited, ips, ip addresses, ip ranges; metadata: meta, info, information, edited, details; metric: measure, metrics, monitoring
milestone: deadline, sprint, version, target date; mobile: cell, cellphone; month: monthly; monthly: month
node: element, layer, layers, frame, frames, object, server, machine; note: comment, memo, annotation
notification: inbox, alerts, unread, unseen, news, errors, warnings, problems, what's new for me, my inbox, what needs my attention, error log, errors logged
number: numbers; object: file; oidc: openid; operation: step, steps; order: orders, purchase, bestellung; org: organization, organisation, company, organisations
org membership: role in the org, make an owner; org secret: secret for all repos, shared secret, org wide secret, share a secret
organization: org, orgs, organisation, company, enterprise, orgnization; organization membership: role in the org, make admin, owner of the org, am i a member
organization migration: export the org; organization secret: secret for all repos, shared secret, secret of the org, org wide secret; outbound: outgoing, firewall
outbound ip: ip addresses, which ips, whitelist your ips; outgoing: outbound, caller id; outgoing caller: verified number, verified caller, verify number
outgoing caller id: verified number, verified numbers, show as caller
outside collaborator: external people, outsiders, external, freelancer, not in the org, non members, externals; owlbot: chatbot, bot, assistant; owner: who owns
package: packages, container, image, module; package version: container image, image version, version of a package, old versions; page: pages, doc, site, landing
page health: dns of the site, domain working; page site: github pages, the website, the site; pages: website, site; pages build: site build, website build
panel: widget, panels, widgets; parent: above, belongs; parent issue: belongs to, which epic, epic
participant: people, person, who, member, caller, attendee, joined, attendees, mute, hold someone, dial in, on the call, who's on
participation: versus, owner, owner versus, versus everybody, versus others; password: passwords; pat: personal access token, tokens; patch: diff; path: paths, popular
payment: pay, paid, card, money, payments, credit card, bought, plugin, card details, pay by phone, card payment, has a user paid, bought our plugin, paid for
payment intent: payment, pay; payment method: card, cards; payout: paid out; pending: waiting, open, outstanding
pending deployment: waiting deploys, waiting for approval, deploy approval
pending invitation: not accepted yet, open invitations, outstanding invitations, invited people, who is invited; people: person, persons, user
permission: right, rights, access, allowed, role, permissions; personal access token: pat, pats; phone: telephone, mobile, cell; ping: alive, running, reachable
plan: subscription, tier, price, plans; plugin: extension, addon; pod: pods, container; policy: rule, rules, permission; post: article; preference: settings
premium: paid; presence: online, away; preset: bookmark, saved view, default view, view; price: cost, pricing, prices; private: secret, hidden, nonpublic
private vulnerability reporting: report privately, report vulnerabilities privately; product: item, article, goods, products, stock; profile: account
project: board, kanban, projects, our docs project, settings of the docs, project settings; project file: files in a project, files of a project
property: properties, attribute, field, attributes; protected branch: branch protection; provider: sso, single sign on, oauth; public: visible, open, everybody, everyone
public key: encryption key, key to encrypt, encrypt; public member: publicly visible, public membership, hide membership; published: shared
published variable: published tokens; pull: pr, prs, merge request; pull comment: inline comment
pull request: pr, prs, merge request, pullrequest, code change, proposed change; punch card: hour of day, time of day, hourly, what time, which hours
push protection: blocked push, stopped push; queue: waiting, line, queues, waitlist, hold
queue member: waiting caller, people waiting, who is waiting, waiting in line, next caller, waiting callers, callers waiting, front of the queue; quota: limit
rate limit: how many requests, requests left, throttling, api quota, calls left, how many calls, api limit, throttled; re run: start over, run again, again, rerun
re run failed: failed jobs again, only the failed, failed ones again, retry failed
reaction: emoji, thumbs up, thumbs down, heart, reacted, like, upvote, hearts, thumbs, thumbsup, +1; readme: front page, introduction, intro; realtime: live, real time
realtime transcription: live transcription, live captions, live subtitles; received: feed, news, follow, timeline
recipe: recipes, steps, code walkthrough, walkthrough, step by step; record: entry, row, item, dns; recording: recorded, recordings, audio, tape, tapes
ref: reference, branch, tag, pointer; reference: endpoint, api, ref, api reference, reference page, endpoint docs, documents an endpoint
referrer: referrers, come from, traffic sources, linking; refresh: renew, new access token; refund: refunds, refunded, give money back, pay back
region: regions, location; registration token: register a runner, add a runner, new runner; relation: relations, relationship, foreign key, linked
release: releases, version; release asset: download of a release, binary, binaries, attachment, attachments, installer; release tag: release for tag, by tag
reminder: remind; remove token: unregister a runner, unregister; repo: repository, repos, project; repo secret: secret of a repo, secret for ci, ci secret
report: summary; repository: repo, repos, project, codebase; repository subscription: watching a repo, unwatch, ignore a repo, stop watching, start watching
repository topic: keywords, tags of a repo; request review: ask for review, ask for a review
requested reviewer: asked to review, ask to review, who should review, reviewer, reviewers, ask someone to review, want to review, has to review, needs to review, review my
required status: must pass, have to pass; restriction: restrictions, allowed, may; retention: how long, kept, keep
review comment: comment on a line, line comment, inline comment, inline comments
review protection: require approvals, required approvals, need approval, how many approvals, approvals required
revision: version, history, change, revisions, versions, changes; role: permission, right, rights, admin, roles, groups; rule: rules, policy, restriction
rule suite: blocked pushes, stopped pushes, pushes were stopped, rule evaluations, rule violations; ruleset: rulesets, rules, rule, branch rules, rules for branches
run log: build log, ci log, ci output, build output; run usage: how long did, minutes, billable
runner: runners, machine, worker, agent, machines, build machine, ci machine, build machines; runner application: runner software, install a runner, runner download
runner group: group of runners; sbom: bill of materials; scan: scanning; scanning: scan; schema: structure, model, data model, tables
search: find in the docs, search the docs; search code: find code, code that, which files contain, where in the code, where is it used, uses the function, code containing
search commits: find commits; search issue: find bugs, find issues, issues that mention, bugs that mention, open bugs, search prs
search issues: find issues, find prs, open prs
search repository: popular projects, projects written in, find projects, popular libraries, frameworks, most starred, libraries
search user: people in, users in, developers in, who lives; search users: find people, find users; seat: seats, license, paying
secret: secrets, token, credential, password, confidential; secret scanning: leaked secrets, leaked, leak, leaked credentials
secret scanning alert: leaked, leaked key, leaked password, leaked token, leaked secrets; security: safety; security advisory: security advisories, ghsa, security report
security fix: fix pr, fix prs; security manager: security people; selected: chosen, which, particular
selected repository: which repos, only some repos, certain repos, particular repos
self hosted runner: own runner, own runners, our runners, our own machine, own machines, our machines; server: machine, host, health, alive, version
server health: up and running, alive, healthy; service: services; session: login; setting: settings, configuration, config, option, preferences, options
share: shared, sharing, link; shipment: delivery, parcel; shipping: postage; short code: shortcode, short number, shortcodes; signature: signed, signing, signatures
signing: sign, signed; signing key: sign commits, signed commits, api key; sip: voip; sip credential: sip user, sip password, sip login, sip users
sip domain: voip domain, sip address; siprec: compliance recording; site: website, page; size: big, large; sms: text, message; snapshot: backup, snapshots; snippet: gist
social: mastodon, twitter, facebook, linkedin; social account: social link, twitter, linkedin, link in my profile, profile links; space: spaces
spec: specification, openapi; ssh key: public key; star: stars, starred, popularity; stargazer: stargazers, star, starred
starred: my stars, i starred, favourites, favorites; state: status; stats: commits, lines; status: state, finished, green, passing, progress, result, mood
status check: required checks, must be green, required check; stock: inventory; storage: space, disk
stream: live, streams, streaming, audio, audio stream, stream the call, fork audio; style: styles, colour, colours, color, colors
sub issue: child task, child tasks, subtask, subtasks, child issue, child issues, children, child, broken down, smaller issues, split an issue, part of an issue
subfolder: subfolders; subscriber: watching; subscription: plan, notified, notifications, watching a repo, subscriptions, recurring; summary: overview, total, totals
suspended: suspend; tag: label; tarball: tar, archive, source code, download; task: todo, job; tax: vat, taxes; team: group, squad, teams
team component: components of our team, published components, component library; team member: who is in, people in the team, in the backend team, on the team
team membership: in the team, part of the team, join a team, add to team, add to a team, to the team, from the team, from a team
team project: our projects, projects of a team; team repository: team access, repos of a team; template: templates, boilerplate; text: plain
tfa: 2fa, mfa, two factor, authenticator, otp; this month: current month; thread: conversation, discussion
thread subscription: mute a conversation, unsubscribe, mute a thread, mute this, stop notifying; ticket: issue, case, request; time: when, hours
timeline: history, chronology; token: tokens, credential, secret, jwt, stun, turn, nat, nat traversal, ice servers; toll free: tollfree, free of charge, freephone, 800
tollfree: freephone; top path: most visited pages, popular pages, popular content; top referrer: where do visitors come from, come from, referring
topic: topics, keyword, keywords; traffic: visits, visitors, views, how often, seen, visited; transaction: payment, transfer; transcript: transcription
transcription: transcript, captions, transcribe, transcriptions, transcripts, written text, speech to text, what was said, text of a recording, written version
transfer repository: move a repo, move this repo, hand over a repo; translation: translations, translate, language
tree: recursively, recursive, every file, files, structure, listing; trigger: alert, alerts, threshold; two factor: 2fa, mfa, tfa, authenticator
type: kind, kinds, sort, types; update branch: up to date, catch up with main, merge main into
update call: hang up, end a call, end the call, redirect a call, stop a call; upstream: original; url: link, address, uri
usage: use, used, uses, consumption, consume, spent, spending, cost, costs, bill
usage record: what did we use, how much used, spend, spent, costs, consumption, costs so far, what have we used, how many texts, spent this month, bill so far
usage trigger: spending alert, usage alert, alerts on usage, notified, warn, threshold, warn me when, tell me when, alert me when, spend too much
user: person, people, account, member, someone, anyone, somebody, profile, users, accounts, colleague, colleagues, login
user defined message: custom message, custom messages, own messages; user migration: export my data, takeout, all my data; user repository: my repos, all my repositories
utility: sort; validation: verify, verification, verified; validation request: verify a number, verify a caller, verify phone number; value: values
variable: variables, setting, token, tokens, design tokens; version: versions, revision, release, history; video: recording
view: views, visits, visitors, page views, visited; visibility: visible, public, private; voip: internet; volume: disk, volumes, disks
vulnerability: security, cve, flaw, hole, weakness, bug; vulnerability alert: dependabot alerts, vulnerable dependency; watcher: watching; watching: watched
webhook: hook, hooks, callback, subscription, subscriptions, notifications, callbacks, notify us, notified, notify our server, call our server, tell our server, events to our server, http callback
webhook config: webhook url, webhook secret, change url of webhook; webhook delivery: webhook calls, did the webhook, hook call, webhook arrive, webhook answer
webhook request: webhook deliveries, failed webhooks, arrive; website: site; week: weekly; workflow: ci, pipeline, automation, action
workflow dispatch: start a workflow, run a workflow, trigger workflow, start workflow, run workflow, start a pipeline, kick off
workflow run: ci run, ci build, pipeline run, ci runs, ci job, ci pipeline, the build, builds, run, ci, build, github action run, the action, pipelines
workflow usage: ci minutes, build minutes; yearly: year, annual; zen: wisdom; zipball: zip, archive, source code, download`;
