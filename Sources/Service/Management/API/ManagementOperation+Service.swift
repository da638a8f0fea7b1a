import HTTPAPI
import Hummingbird
import Notifications

// The state of the service and its last hour, as the console's page "Service" shows them.
extension ManagementOperations {
    static let service = [
        ManagementOperation(
            method: .get, path: "/v1/service", summary: "Whether the service is ready, and its last hour",
            parameters: [
                .query(
                    "after", .integer(0...Int64.max), "Only samples from after this moment, in milliseconds since 1970."
                )
            ],
            answer: .json(ManagementSchemas.service)
        ) { api, call in
            let reason = await api.parts.unreadiness()
            return try .json(
                ManagementMessages.Service(
                    ready: reason == nil, reason: reason, time: api.now.milliseconds,
                    started: api.parts.started.milliseconds,
                    accept: api.acceptsAny ? "any" : nil,
                    samples: api.parts.history(call.query("after").flatMap { UInt64($0) } ?? 0)))
        }
    ]
}

extension ManagementMessages {
    package struct Service: Codable, Sendable {
        package var ready: Bool
        /// Why the service is not ready; nil if it is ready.
        package var reason: String?
        /// The present moment. All moments are in milliseconds since 1970.
        package var time: UInt64
        package var started: UInt64
        /// `any` if the service accepts what it does not know; otherwise nil.
        package var accept: String?
        package var samples: [ServiceSample]
    }

    /// The counts of one period of some seconds.
    package struct ServiceSample: Codable, Sendable, Hashable {
        package var time: UInt64
        /// The length of the period, in milliseconds.
        package var duration: UInt64
        package var accepted: UInt64
        package var rejected: UInt64
        package var stored: UInt64
        package var delivered: UInt64
        package var connectedDevices: UInt64
        package var pendingStores: UInt64
        /// The memory of the process, in bytes.
        package var memory: UInt64?
        /// How often each limit was exceeded, by its name. Limits that were not exceeded are left out.
        package var limits: [String: UInt64]
        package var storing: Latency?
        package var acknowledging: Latency?

        package init(
            time: UInt64,
            duration: UInt64,
            accepted: UInt64,
            rejected: UInt64,
            stored: UInt64,
            delivered: UInt64,
            connectedDevices: UInt64,
            pendingStores: UInt64,
            memory: UInt64?,
            limits: [String: UInt64],
            storing: Latency?,
            acknowledging: Latency?,
        ) {
            self.time = time
            self.duration = duration
            self.accepted = accepted
            self.rejected = rejected
            self.stored = stored
            self.delivered = delivered
            self.connectedDevices = connectedDevices
            self.pendingStores = pendingStores
            self.memory = memory
            self.limits = limits
            self.storing = storing
            self.acknowledging = acknowledging
        }
    }

    /// Percentiles of a duration, in microseconds.
    package struct Latency: Codable, Sendable, Hashable {
        package var p50: UInt64
        package var p90: UInt64
        package var p99: UInt64

        package init(p50: UInt64, p90: UInt64, p99: UInt64) {
            self.p50 = p50
            self.p90 = p90
            self.p99 = p99
        }
    }
}

extension ManagementSchemas {
    private static let count = Schema.integer(0...Int64.max)
    private static let latency = Schema.named(
        "Latency",
        .object([.required("p50", count, "In microseconds."), .required("p90", count), .required("p99", count)]))
    static let service = Schema.named(
        "Service",
        .object([
            .required("ready", .boolean), .optional("reason", .string(.any), "Why the service is not ready."),
            .required("time", count), .required("started", count),
            .optional(
                "accept", .string(.oneOf(["any"])), "If unknown teams, keys, topics and device tokens are accepted."),
            .required(
                "samples",
                .array(
                    .named(
                        "ServiceSample",
                        .object([
                            .required("time", count, "The end of the sample's period."),
                            .required("duration", count, "The length of the sample's period, in milliseconds."),
                            .required("accepted", count), .required("rejected", count), .required("stored", count),
                            .required("delivered", count, "Notifications that devices acknowledged."),
                            .required("connectedDevices", count), .required("pendingStores", count),
                            .optional("memory", count, "In bytes, as the system counts it."),
                            .required("limits", .openObject, "How often each limit was exceeded, by its name."),
                            .optional("storing", latency, "From accepting a notification until it is on disk."),
                            .optional("acknowledging", latency, "From the stream to the acknowledgement."),
                        ]))), "Of the last hour, one each ten seconds, oldest first."),
        ]))
}
