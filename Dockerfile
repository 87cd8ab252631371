# The sidecar's image: Node, one bundled file and its bill of materials. No npm, nothing that is started through a shell.
#
# The two images below are named by tag. Pin them by digest in a build of yours, and have what was built described:
#   docker buildx build --sbom=true --provenance=mode=max \
#     --build-arg NODE_IMAGE=node:24-trixie-slim@sha256:… --build-arg BASE_IMAGE=debian:trixie-slim@sha256:… -t tenure .
ARG NODE_IMAGE=node:24-trixie-slim
ARG BASE_IMAGE=debian:trixie-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci
COPY scripts ./scripts
COPY src ./src
RUN node scripts/build.ts
# Not "npm sbom --omit dev": that leaves out what a tool of the build needs as well, pg and zod among it.
RUN npm pkg delete devDependencies && \
    npm install --package-lock-only --ignore-scripts --offline && \
    npm sbom --sbom-format cyclonedx --package-lock-only > dist/sbom.json

# The same Debian as above, whose C++ library this node is linked with.
FROM ${BASE_IMAGE}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="tenure" \
      org.opencontainers.image.description="May this instance act, under which generation, and for how long yet? A leader election sidecar." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /build/dist/tenure.mjs /build/dist/sbom.json /app/
# Nobody of this image, and a number, so that Kubernetes can see that it is not root (runAsNonRoot).
USER 65532:65532
STOPSIGNAL SIGTERM
# Process 1 is the sidecar itself: it gets the signals, and has to.
ENTRYPOINT ["/usr/local/bin/node", "/app/tenure.mjs"]
CMD ["run"]
