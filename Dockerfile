# The daemon as a container: an unprivileged user, a read-only root, one writable folder (/data).
# Build: docker build -t trustward .    Run: compose.yaml, or docs/operating.md. It needs TRUSTWARD_API_URL and a credential.

# Node 24.21.0 on Debian 12, the multi-arch index of 2026-10-06. How to renew it: docs/development.md.
FROM node:24-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20 AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Install scripts are not needed: better-sqlite3 ships its binaries.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
COPY .ci ./.ci
COPY docs ./docs
COPY README.md SECURITY.md CHANGELOG.md ./
RUN npm run build \
 && npm run docs \
 && npm prune --omit=dev --ignore-scripts \
 && find dist \( -name '*.d.ts' -o -name .tsbuildinfo \) -delete

FROM node:24-bookworm-slim@sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
LABEL org.opencontainers.image.title="Trustward" \
      org.opencontainers.image.description="A policy engine that reacts to the trust data of devices, users and services" \
      org.opencontainers.image.licenses="MIT"
WORKDIR /app
# NODE_ENV=production disables the embedded console: without an API address the container exits with code 2 and says why.
# Memory that threads have freed goes back sooner: a tenth less for a large fleet (docs/operating.md).
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    TRUSTWARD_LISTEN=0.0.0.0:8080 \
    TRUSTWARD_DB=/data/trustward.db \
    TRUSTWARD_RULES=/app/rules
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY rules ./rules
RUN install -d -o node -g node -m 0700 /data
VOLUME /data
# The user node, by its number: what runs the container can check that it is not root.
USER 1000:1000
EXPOSE 8080
# On SIGTERM the daemon finishes current work within 20 s: give the container 30 s (--stop-timeout 30).
STOPSIGNAL SIGTERM
# The slim image has no curl. The port comes from TRUSTWARD_LISTEN.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TRUSTWARD_LISTEN.split(':').pop()}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
