import Foundation
import HTTPAPI
import HTTPTypes
import Hummingbird

// Health, readiness, metrics and the API's description.
extension ManagementOperations {
    static let system = [
        ManagementOperation(
            method: .get, path: "/health", summary: "Whether the process lives",
            answer: .json(ServerStatus.schema), access: .everybody
        ) { _, _ in
            .json(ServerStatus("alive"))
        },
        ManagementOperation(
            method: .get, path: "/ready", summary: "Whether the listeners and the store take requests",
            answer: .json(ServerStatus.schema), problems: [503], access: .everybody
        ) { api, _ in
            if let reason = await api.parts.unreadiness() { throw Problem(503, reason) }
            return .json(ServerStatus("ready"))
        },
        ManagementOperation(
            method: .get, path: "/metrics", summary: "The metrics, in Prometheus' text format",
            answer: .other(["text/plain"]), access: .loopback
        ) { api, _ in
            Response(.ok, "text/plain; version=0.0.4; charset=utf-8", text: api.parts.metrics())
        },
        ManagementOperation(
            method: .get, path: "/ca.pem", summary: "The root certificate that clients have to trust, in PEM",
            answer: .other([MediaType.pem]), access: .loopbackOrMemory
        ) { api, _ in
            Response(.ok, MediaType.pem, text: api.parts.authorityPEM())
        },
        ManagementOperation(
            method: .get, path: "/openapi.json", summary: "This API's description",
            answer: .json(ManagementSchemas.anything)
        ) { _, _ in
            description.response()
        },
    ]

    static let description = OpenAPI<ManagementAPI>.document(
        title: "Carillon management API",
        description: "Accounts, health, metrics and the delivery log of a Carillon service.",
        key: "The key in management.key. The Unix socket and administrators' certificates need none.")
}
