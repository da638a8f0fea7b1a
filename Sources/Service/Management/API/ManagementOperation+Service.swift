package import HTTPAPI
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
            answer: .json(ManagementMessages.Service.schema)
        ) { api, call in
            let reason = await api.parts.unreadiness()
            return .json(
                ManagementMessages.Service(
                    ready: reason == nil, reason: reason, time: api.now.milliseconds,
                    started: api.parts.started.milliseconds,
                    accept: api.acceptsAny ? "any" : nil,
                    // fits: nil if it does not
                    samples: api.parts.history(call.query("after").flatMap { UInt64($0) } ?? 0)))
        }
    ]
}

extension ManagementMessages {
    package struct Service: JSONMessage {
        package let ready: Bool
        package let reason: String?
        package let time: UInt64
        package let started: UInt64
        package let accept: String?
        package let samples: [ServiceSample]

        package static let form: JSONForm<Service> = .object(
            "Service", Service.init,
            .required("ready", .boolean, \.ready),
            .optional("reason", .text(.any), \.reason, "Why the service is not ready."),
            .required("time", .integer(), \.time), .required("started", .integer(), \.started),
            .optional(
                "accept", .text(.oneOf(["any"])), \.accept,
                "If unknown teams, keys, topics and device tokens are accepted."),
            .required(
                "samples", .list(of: ServiceSample.form), \.samples,
                "Of the last hour, one each ten seconds, oldest first."))
    }

    /// The counts of one period of some seconds.
    package struct ServiceSample: JSONMessage, Hashable {
        package let time: UInt64
        package let duration: UInt64
        package let accepted: UInt64
        package let rejected: UInt64
        package let stored: UInt64
        package let delivered: UInt64
        package let connectedDevices: UInt64
        package let pendingStores: UInt64
        package let memory: UInt64?
        package let limits: [String: UInt64]
        package let storing: Latency?
        package let acknowledging: Latency?

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
            (self.time, self.duration, self.accepted, self.rejected) = (time, duration, accepted, rejected)
            (self.stored, self.delivered, self.connectedDevices) = (stored, delivered, connectedDevices)
            (self.pendingStores, self.memory, self.limits) = (pendingStores, memory, limits)
            (self.storing, self.acknowledging) = (storing, acknowledging)
        }

        package static let form: JSONForm<ServiceSample> = .object(
            "ServiceSample", ServiceSample.init,
            .required("time", .integer(), \.time, "The end of the sample's period."),
            .required("duration", .integer(), \.duration, "The length of the sample's period, in milliseconds."),
            .required("accepted", .integer(), \.accepted), .required("rejected", .integer(), \.rejected),
            .required("stored", .integer(), \.stored),
            .required("delivered", .integer(), \.delivered, "Notifications that devices acknowledged."),
            .required("connectedDevices", .integer(), \.connectedDevices),
            .required("pendingStores", .integer(), \.pendingStores),
            .optional("memory", .integer(), \.memory, "In bytes, as the system counts it."),
            .required(
                "limits", .dictionary(of: .integer()), \.limits, "How often each limit was exceeded, by its name."),
            .optional("storing", Latency.form, \.storing, "From accepting a notification until it is on disk."),
            .optional("acknowledging", Latency.form, \.acknowledging, "From the stream to the acknowledgement."))
    }

    /// Percentiles of a duration.
    package struct Latency: JSONMessage, Hashable {
        package let p50: UInt64
        package let p90: UInt64
        package let p99: UInt64

        package init(p50: UInt64, p90: UInt64, p99: UInt64) { (self.p50, self.p90, self.p99) = (p50, p90, p99) }

        package static let form: JSONForm<Latency> = .object(
            "Latency", Latency.init,
            .required("p50", .integer(), \.p50, "In microseconds."),
            .required("p90", .integer(), \.p90), .required("p99", .integer(), \.p99))
    }
}
