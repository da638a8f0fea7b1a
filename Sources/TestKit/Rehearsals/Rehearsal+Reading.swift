package import Matching
package import Notifications

extension Rehearsal {
    /// Reads the document that docs/testing.md describes.
    /// - Throws: the first fault, with its place and what is allowed there.
    package init(_ document: JSONValue) throws(MatchError) {
        let reader = try DocumentReader(document, at: "", keys: ["seed", "ttl", "rules"])
        seed = UInt64(bitPattern: try reader.integer("seed", Int64.min...Int64.max) ?? 0)
        life = try reader.duration("ttl", upTo: RehearsalLimits.life) ?? RehearsalLimits.defaultLife
        guard case .array(let values) = try reader.required("rules"),
            (1...RehearsalLimits.rules).contains(values.count)
        else { throw reader.fault("rules", "a list of 1 to \(RehearsalLimits.rules) rules") }
        rules = []
        for (index, value) in values.enumerated() {
            let rule = try Rule(value, at: "/rules/\(index)", number: index + 1)
            guard !rules.contains(where: { $0.name.isSame(as: rule.name) }) else {
                throw MatchError("/rules/\(index)/name", "Another rule has this name; each needs its own.")
            }
            rules.append(rule)
        }
    }
}

extension Rehearsal.Rule {
    init(_ value: JSONValue, at pointer: String, number: Int) throws(MatchError) {
        let reader = try DocumentReader(value, at: pointer, keys: ["name", "match", "when", "fault"])
        name = try reader.text("name") ?? "rule \(number)"
        guard (1...RehearsalLimits.name).contains(name.utf8.count),
            name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else { throw reader.fault("name", "1 to \(RehearsalLimits.name) bytes without control characters") }
        match =
            try reader.members["match"].map { value throws(MatchError) in
                try RequestMatch(value, at: reader.place("match"))
            } ?? RequestMatch()
        guard match.environment != .production else {
            throw MatchError(
                reader.place("match") + "/environment",
                "Rehearsals exist in the development environment only; the value has to be development.")
        }
        selection =
            try reader.members["when"].map { value throws(MatchError) in
                try Rehearsal.Selection(value, at: reader.place("when"))
            } ?? .always
        fault = try Rehearsal.Fault(try reader.required("fault"), at: reader.place("fault"))
        try checkMatch(reader)
    }

    /// Checks that the match has only keys that the rule's fault allows.
    private func checkMatch(_ reader: DocumentReader) throws(MatchError) {
        let place = reader.place("match")
        if let keys = fault.connectionKeys, case .object(let members) = reader.members["match"] {
            let allowed = keys.map(\.rawValue)
            for key in members.keys where !allowed.containsExactly(key) {
                throw MatchError(
                    place + "/" + JSONValue.escaped(key),
                    "The fault is about a connection, before any request; the match takes \(Self.list(allowed)).")
            }
        }
        if let interface = match.interface, !applies(to: interface) {
            let allowed = fault.interfaces.map(\.rawValue).joined(separator: ", ")
            throw MatchError(place + "/protocol", "The fault is for \(allowed).")
        }
        try checkReach(place)
    }

    private static func list(_ names: [String]) -> String {
        guard let last = names.last, names.count > 1 else { return names.first ?? "" }
        return names.dropLast().joined(separator: ", ") + " and " + last
    }
}

extension Rehearsal.Selection {
    private enum Name: String, CaseIterable {
        case share
        case first
        case every
        case after
        case between
    }

    init(_ value: JSONValue, at pointer: String) throws(MatchError) {
        let keys = Name.allCases.map(\.rawValue)
        let reader = try DocumentReader(value, at: pointer, keys: keys)
        guard reader.members.count == 1, let (key, value) = reader.members.first, let name = Name(rawValue: key) else {
            throw MatchError(pointer, "The object has to have exactly one of \(keys.joined(separator: ", ")).")
        }
        var count: UInt64 {
            get throws(MatchError) { UInt64(clamping: try reader.integer(key, 1...RehearsalLimits.count) ?? 1) }
        }
        switch name {
        case .first: self = .first(try count)
        case .every: self = .every(try count)
        case .after: self = .after(try count)
        case .share:
            guard let share = value.double, (0...1).contains(share) else { throw reader.fault(key, "from 0 to 1") }
            self = .share(share)
        case .between:
            guard case .array(let moments) = value, moments.count == 2 else {
                throw reader.fault(key, "a list of two durations")
            }
            let start = try DocumentReader.duration(
                moments[0], at: reader.place(key) + "/0", upTo: RehearsalLimits.life, allowsZero: true)
            let end = try DocumentReader.duration(
                moments[1], at: reader.place(key) + "/1", upTo: RehearsalLimits.life)
            guard start < end else {
                throw MatchError(reader.place(key) + "/1", "The value has to be greater than the one before it.")
            }
            self = .between(start, end)
        }
    }
}
