import ArgumentParser
import Matching
import Notifications
import Rehearsals

/// The troubles that one tries first, without a document.
struct TroubleOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Answer with this reason, as in ServiceUnavailable.", valueName: "reason"),
        completion: .list(Rejection.Reason.allCases.map(\.rawValue)))
    var reason: String?

    @Option(help: ArgumentHelp("Answer so much later, as in PT2S.", valueName: "duration"))
    var slow: String?

    @Flag(help: "Answer nothing.")
    var hang = false

    @Flag(help: "End the connection with a TCP reset, as if the machine had failed.")
    var reset = false

    @Option(help: ArgumentHelp("End the connection with GOAWAY at each so many requests.", valueName: "number"))
    var goawayEvery: Int64?

    @Option(help: ArgumentHelp("The part of the requests that have the trouble, as in 0.1.", valueName: "share"))
    var share: Double?

    @Option(help: ArgumentHelp("The number of requests, from the first, that have the trouble.", valueName: "number"))
    var first: Int64?

    @Option(help: ArgumentHelp("Only the requests of this team.", valueName: "team-id"))
    var team: String?

    @Option(help: ArgumentHelp("How long the rehearsal is active (PT1H).", valueName: "duration"))
    var ttl: String?

    /// The rehearsal; nil if no trouble is named.
    func document() throws -> JSONValue? {
        let faults = try self.faults()
        guard faults.count <= 1 else {
            throw ValidationError("Name one of --reason, --slow, --hang and --reset, or write a file with rules.")
        }
        var rules: [JSONValue] = []
        if let goawayEvery {
            guard goawayEvery > 0 else {
                throw ValidationError("--goaway-every is \(goawayEvery); it takes 1 or more.")
            }
            rules.append(
                rule(
                    "goaway-every \(goawayEvery)", ["goAway": ["reason": "Shutdown"]],
                    when: ["every": .integer(goawayEvery)]))
        }
        if let (name, fault) = faults.first { rules.append(rule(name, fault, when: try condition())) }
        guard !rules.isEmpty else {
            guard share == nil, first == nil, team == nil, ttl == nil else {
                throw ValidationError("Name the trouble too, as in --reason ServiceUnavailable.")
            }
            return nil
        }
        guard !faults.isEmpty || (share == nil && first == nil) else {
            throw ValidationError("--share and --first are for --reason, --slow, --hang and --reset.")
        }
        var members: [String: JSONValue] = ["rules": .array(rules)]
        if let ttl { members["ttl"] = .string(try Self.duration(ttl, "ttl", upTo: RehearsalLimits.life)) }
        return .object(members)
    }

    /// The named faults, each with the name of its rule.
    private func faults() throws -> [(name: String, fault: JSONValue)] {
        var faults: [(name: String, fault: JSONValue)] = []
        if let reason {
            guard Rejection.Reason(rawValue: reason) != nil else {
                throw ValidationError(
                    "There is no reason \(reason); ServiceUnavailable and TooManyRequests are two of them.")
            }
            faults.append(("reason \(reason)", ["answer": ["reason": .string(reason)]]))
        }
        if let slow {
            let delay = try Self.duration(slow, "slow", upTo: RehearsalLimits.delay)
            faults.append(("slow \(slow)", ["delay": .string(delay)]))
        }
        if hang { faults.append(("hang", ["hang": true])) }
        if reset { faults.append(("reset", ["close": "rst"])) }
        return faults
    }

    private func condition() throws -> JSONValue? {
        switch (share, first) {
        case (nil, nil): return nil
        case (let share?, nil):
            guard share > 0, share <= 1 else {
                throw ValidationError("--share is \(share); it takes a number up to 1.")
            }
            return ["share": .number(share)]
        case (nil, let first?):
            guard first > 0 else { throw ValidationError("--first is \(first); it takes 1 or more.") }
            return ["first": .integer(first)]
        case (.some, .some): throw ValidationError("Name --share or --first, and not both.")
        }
    }

    private func rule(_ name: String, _ fault: JSONValue, when: JSONValue?) -> JSONValue {
        var members = ["name": .string(name), "fault": fault]
        if let when { members["when"] = when }
        if let team { members["match"] = ["team": .string(team)] }
        return .object(members)
    }

    private static func duration(_ text: String, _ option: String, upTo longest: Duration) throws -> String {
        guard let duration = Duration(iso8601: text), duration > .zero, duration <= longest else {
            throw ValidationError(
                "--\(option) is \(text); it takes a duration such as PT2S or PT0.5S, of at most \(longest.iso8601).")
        }
        return text
    }
}
