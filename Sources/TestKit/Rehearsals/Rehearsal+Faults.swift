import Matching
import Notifications

// Reads faults from a document.
extension Rehearsal.Fault {
    private static let keys = [
        "answer", "goAway", "reset", "close", "hang", "delay", "lose", "duplicate", "settings", "refuse", "errorPacket",
    ]
    /// The faults for which `accepted` may be set: without it they act before acceptance.
    private static let acceptable = ["answer", "reset", "close", "hang", "errorPacket"]

    init(_ value: JSONValue, at pointer: String) throws(MatchError) {
        let reader = try DocumentReader(value, at: pointer, keys: Self.keys + ["accepted"])
        let kinds = reader.members.keys.filter { $0 != "accepted" }
        guard kinds.count == 1, let key = kinds.first else {
            throw MatchError(pointer, "The object has to have exactly one of \(Self.keys.joined(separator: ", ")).")
        }
        if reader.members["accepted"] != nil {
            guard Self.acceptable.contains(key) else {
                throw MatchError(
                    reader.place("accepted"), "The key is for \(Self.acceptable.joined(separator: ", ")) only.")
            }
            try reader.isOn("accepted")
        }
        if key == "refuse" {
            try reader.isOn(key)
            self = .refuse
        } else if key == "delay", case .object = reader.members[key] {
            self = try Self.spreadDelay(reader)
        } else {
            self = .request(
                RequestFault(try Self.kind(key, reader), isAccepted: reader.members["accepted"] != nil))
        }
    }

    private static func spreadDelay(_ reader: DocumentReader) throws(MatchError) -> Rehearsal.Fault {
        let delay = try DocumentReader(
            try reader.required("delay"), at: reader.place("delay"), keys: ["median", "p99"])
        for key in ["median", "p99"] { _ = try delay.required(key) }
        guard let median = try delay.duration("median", upTo: RehearsalLimits.delay),
            let p99 = try delay.duration("p99", upTo: RehearsalLimits.delay), median <= p99
        else { throw delay.fault("p99", "at least the median") }
        return .spreadDelay(median: median, p99: p99)
    }

    private static func kind(_ key: String, _ reader: DocumentReader) throws(MatchError) -> RequestFault.Kind {
        switch key {
        case "answer": return try answer(reader)
        case "goAway": return try goAway(reader)
        case "reset":
            let code = try reader.choice(key, resetCodes) { name in resetCodes.firstIndex(of: name) }
            return .reset(UInt32(clamping: code ?? 0))
        case "close":
            let choices = RequestFault.CloseKind.allCases.map(\.rawValue)
            return .close(try reader.choice(key, choices, RequestFault.CloseKind.init(rawValue:)) ?? .fin)
        case "hang":
            try reader.isOn(key)
            return .hang
        case "delay":
            return .delay(try reader.duration(key, upTo: RehearsalLimits.delay) ?? .zero)
        case "lose":
            try reader.isOn(key)
            return .lose
        case "duplicate":
            return .duplicate(Int(try reader.integer(key, 2...Int64(RehearsalLimits.duplicates)) ?? 2))
        case "settings":
            let settings = try DocumentReader(
                try reader.required(key), at: reader.place(key), keys: ["maxConcurrentStreams"])
            _ = try settings.required("maxConcurrentStreams")
            let streams = try settings.integer("maxConcurrentStreams", 1...RehearsalLimits.concurrentStreams)
            return .settings(maxConcurrentStreams: Int(streams ?? 1))
        default:
            let packet = try DocumentReader(try reader.required(key), at: reader.place(key), keys: ["status"])
            _ = try packet.required("status")
            guard let number = try packet.integer("status", 0...255),
                let status = BinaryStatus(rawValue: UInt8(clamping: number)),
                status != .noErrors
            else {
                let allowed = BinaryStatus.faults.map { "\($0.rawValue)" }.joined(separator: ", ")
                throw packet.fault("status", "one of \(allowed)")
            }
            return .errorPacket(status)
        }
    }

    /// The names of RFC 9113, 7. The index of a name is its error code.
    private static let resetCodes = [
        "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
        "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
    ]

    private static func answer(_ reader: DocumentReader) throws(MatchError) -> RequestFault.Kind {
        let answer = try DocumentReader(
            try reader.required("answer"), at: reader.place("answer"), keys: ["reason", "timestamp", "retryAfter"])
        let timestamp = try answer.integer("timestamp", 0...Int64.max).map { UInt64(clamping: $0) }
        let retryAfter = try answer.integer("retryAfter", 0...86_400).map { Int($0) }
        let rejection = Rejection(
            try reason(answer), timestamp: timestamp, detail: "A rehearsal answers in the service's place.")
        return .answer(rejection, retryAfter: retryAfter)
    }

    private static func goAway(_ reader: DocumentReader) throws(MatchError) -> RequestFault.Kind {
        let goAway = try DocumentReader(
            try reader.required("goAway"), at: reader.place("goAway"), keys: ["reason", "after"])
        return .goAway(
            goAway.members["reason"] == nil ? .shutdown : try reason(goAway),
            after: Int(try goAway.integer("after", 0...RehearsalLimits.count) ?? 0))
    }

    private static func reason(_ reader: DocumentReader) throws(MatchError) -> Rejection.Reason {
        _ = try reader.required("reason")
        let choices = Rejection.Reason.allCases.map(\.rawValue)
        guard let reason = try reader.choice("reason", choices, Rejection.Reason.init(rawValue:)) else {
            throw reader.fault("reason", "one of \(choices.joined(separator: ", "))")
        }
        return reason
    }
}
