# The daemon as a container: a plain user, a read-only root, one folder that is written (/data).
# Build: docker build -t trustward .    Run: docs/operating.md. It needs TRUSTWARD_API_URL and a credential.

FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No package's scripts are run: better-sqlite3 carries its binaries.
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY src ./src
RUN npm run build \
 && npm prune --omit=dev --ignore-scripts

FROM node:24-bookworm-slim
WORKDIR /app
# NODE_ENV=production refuses the embedded console: a container without an API address ends with exit code 2 and says so.
ENV NODE_ENV=production \
    TRUSTWARD_LISTEN=0.0.0.0:8080 \
    TRUSTWARD_DB=/data/trustward.db \
    TRUSTWARD_RULES=/app/rules
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json LICENSE ./
COPY rules ./rules
RUN install -d -o node -g node -m 0700 /data
VOLUME /data
USER node
EXPOSE 8080
# What is under way is finished within 20 s of SIGTERM: give the container 30 s (--stop-timeout 30).
STOPSIGNAL SIGTERM
# The slim image has no curl. The port is the one of TRUSTWARD_LISTEN.
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.TRUSTWARD_LISTEN.split(':').pop()}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/main.js"]
CMD ["serve"]
