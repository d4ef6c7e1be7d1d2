# An image with only the production program and CA certificates.

# The npm packages of the embedded dashboard, for the SBOM of the image: the program does not list them.
FROM scratch AS dashboard
ARG BUILDKIT_SBOM_SCAN_STAGE=true
COPY api/dashboard/package-lock.json /

# The build runs on the builder's platform and compiles for the image's.
FROM --platform=$BUILDPLATFORM golang:1.26.8 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN GOWORK=off go mod download
# Includes .git, from which the build takes the version of the program.
COPY . .
# BuildKit scans only stages on which the image depends.
COPY --from=dashboard /package-lock.json /dashboard/
# GOWORK=off excludes the module app/dev, which contains the Temporal server.
RUN GOWORK=off CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
	go build -trimpath -ldflags="-s -w" -o /comanda ./app/cmd/comanda

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /comanda /comanda
USER 65532:65532
EXPOSE 8443 8444
ENTRYPOINT ["/comanda"]
CMD ["serve"]
