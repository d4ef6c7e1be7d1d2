# The production program in an image that holds nothing else but certificates.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN GOWORK=off go mod download
# With .git, from which the program takes the version that it names.
COPY . .
# The Temporal server is part of app/dev only, a module of its own.
RUN GOWORK=off CGO_ENABLED=0 go build -trimpath -ldflags="-s -w" -o /comanda ./app/cmd/comanda

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /comanda /comanda
USER 65532:65532
EXPOSE 8443 8444
ENTRYPOINT ["/comanda"]
CMD ["serve"]
