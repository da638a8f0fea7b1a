import HTTP2Core
import Matching
import Notifications

// Reads faults from a document.
extension Rehearsal.Fault {
    /// The faults for which `accepted` may be set: without it they act before acceptance.
    private static let acceptable = FaultName.allCases.filter { $0.row.moment == .insteadOrAfter }

    init(_ value: JSONValue, at pointer: String) throws(MatchError) {
        let names = FaultName.allCases.map(\.rawValue)
        let reader = try DocumentReader(value, at: pointer, keys: nil)
        let given = reader.members.keys.filter { $0 != "accepted" }
        // Its name says what a fault is, so an unknown one is a fault of the whole object.
        guard given.count == 1, let name = given.first.flatMap(FaultName.init(rawValue:)) else {
            throw MatchError(pointer, "The object has to have exactly one of \(names.joined(separator: ", ")).")
        }
        let isAccepted = reader.members["accepted"] != nil
        if isAccepted {
            guard Self.acceptable.contains(name) else {
                let allowed = Self.acceptable.map(\.rawValue).joined(separator: ", ")
                throw MatchError(reader.place("accepted"), "The key is for \(allowed) only.")
            }
            try reader.isOn("accepted")
        }
        self = try Self.fault(name, reader, isAccepted: isAccepted)
    }

    private static func fault(
        _ name: FaultName,
        _ reader: DocumentReader,
        isAccepted: Bool,
    ) throws(MatchError) -> Rehearsal.Fault {
        let key = name.rawValue
        let kind: RequestFault.Kind
        switch name {
        case .refuse:
            try reader.isOn(key)
            return .refuse
        case .delay:
            if case .object = reader.members[key] { return try spreadDelay(reader) }
            kind = .delay(try reader.duration(key, upTo: RehearsalLimits.delay) ?? .zero)
        case .answer: kind = try answer(reader)
        case .goAway: kind = try goAway(reader)
        case .reset:
            let code = try reader.choice(key, ErrorCode.names) { name in ErrorCode.names.firstIndex(of: name) }
            kind = .reset(UInt32(clamping: code ?? 0))
        case .close:
            let choices = RequestFault.CloseKind.allCases.map(\.rawValue)
            kind = .close(try reader.choice(key, choices, RequestFault.CloseKind.init(rawValue:)) ?? .fin)
        case .hang:
            try reader.isOn(key)
            kind = .hang
        case .lose:
            try reader.isOn(key)
            kind = .lose
        case .duplicate:
            // fits: the range was checked
            kind = .duplicate(Int(try reader.integer(key, 2...Int64(RehearsalLimits.duplicates)) ?? 2))
        case .settings: kind = try settings(reader)
        case .omit:
            let choices = RequestFault.OmittedHeader.allCases.map(\.rawValue)
            kind = .omit(try reader.choice(key, choices, RequestFault.OmittedHeader.init(rawValue:)) ?? .uniqueID)
        case .errorPacket: kind = try errorPacket(reader)
        case .certificate:
            let choices = HandshakeFault.Certificate.allCases.map(\.rawValue)
            let certificate = try reader.choice(key, choices, HandshakeFault.Certificate.init(rawValue:))
            return .handshake(.certificate(certificate ?? .otherAuthority))
        case .tls: return .handshake(.versions(try versions(reader)))
        case .handshake:
            let choices = HandshakeFault.Disturbance.allCases.map(\.rawValue)
            let disturbance = try reader.choice(key, choices, HandshakeFault.Disturbance.init(rawValue:))
            return .handshake(.disturbance(disturbance ?? .slow))
        }
        return .request(RequestFault(kind, isAccepted: isAccepted))
    }

    private static func versions(_ reader: DocumentReader) throws(MatchError) -> [HandshakeFault.Version] {
        let tls = try DocumentReader(try reader.required("tls"), at: reader.place("tls"), keys: ["versions"])
        let all = HandshakeFault.Version.allCases
        let allowed = "a list of one or more of \(all.map(\.rawValue).joined(separator: ", "))"
        guard case .array(let values) = try tls.required("versions"), !values.isEmpty else {
            throw tls.fault("versions", allowed)
        }
        var versions: Set<HandshakeFault.Version> = []
        for value in values {
            guard case .string(let text) = value, let version = HandshakeFault.Version(rawValue: text) else {
                throw tls.fault("versions", allowed)
            }
            versions.insert(version)
        }
        return all.filter(versions.contains)
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

    private static func settings(_ reader: DocumentReader) throws(MatchError) -> RequestFault.Kind {
        let settings = try DocumentReader(
            try reader.required("settings"), at: reader.place("settings"), keys: ["maxConcurrentStreams"])
        _ = try settings.required("maxConcurrentStreams")
        let streams = try settings.integer("maxConcurrentStreams", 1...RehearsalLimits.concurrentStreams)
        return .settings(maxConcurrentStreams: Int(streams ?? 1))  // fits: the range was checked
    }

    private static func errorPacket(_ reader: DocumentReader) throws(MatchError) -> RequestFault.Kind {
        let packet = try DocumentReader(
            try reader.required("errorPacket"), at: reader.place("errorPacket"), keys: ["status"])
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

    private static func answer(_ reader: DocumentReader) throws(MatchError) -> RequestFault.Kind {
        let answer = try DocumentReader(
            try reader.required("answer"), at: reader.place("answer"), keys: ["reason", "timestamp", "retryAfter"])
        let timestamp = try answer.integer("timestamp", 0...Int64.max).map { UInt64(clamping: $0) }
        let retryAfter = try answer.integer("retryAfter", 0...86_400).map { Int($0) }  // fits: the range was checked
        let rejection = Rejection(
            try reason(answer), timestamp: timestamp, detail: "A rehearsal answers in the service's place.")
        return .answer(rejection, retryAfter: retryAfter)
    }

    private static func goAway(_ reader: DocumentReader) throws(MatchError) -> RequestFault.Kind {
        let goAway = try DocumentReader(
            try reader.required("goAway"), at: reader.place("goAway"), keys: ["reason", "after"])
        return .goAway(
            goAway.members["reason"] == nil ? .shutdown : try reason(goAway),
            after: Int(try goAway.integer("after", 0...RehearsalLimits.count) ?? 0))  // fits: the range was checked
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
