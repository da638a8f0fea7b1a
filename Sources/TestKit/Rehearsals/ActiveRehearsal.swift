package import Matching
package import Notifications

/// An active rehearsal with its counts. It is a value that decides which fault each request gets.
///
/// The decision depends only on the seed and on the number of the matching request, so a rehearsal can be repeated
/// with any number of connections.
package struct ActiveRehearsal: Sendable {
    package let rehearsal: Rehearsal
    package private(set) var counts: [Counts]

    /// How many requests or connections each rule matched, and for how many it fired.
    package struct Counts: Sendable, Hashable {
        package var matched: UInt64 = 0
        package var fired: UInt64 = 0
    }

    /// A rule that fires for a request, with the fault.
    package struct Firing: Sendable, Hashable {
        package var rule: String
        package var fault: RequestFault
    }

    package init(_ rehearsal: Rehearsal) {
        self.rehearsal = rehearsal
        counts = Array(repeating: Counts(), count: rehearsal.rules.count)
    }

    /// Whether a rule compares payloads, which have to be parsed for that.
    package var comparesPayloads: Bool { rehearsal.rules.contains { $0.match.payload != nil } }

    /// Decides about a request. Each rule counts all requests that it matches. If several rules match, the first one
    /// that fires decides.
    /// - Parameters:
    ///   - age: the time since the rehearsal began.
    ///   - isDecided: whether an older rehearsal has already fired for the request. Then the rules only count it.
    package mutating func decide(_ facts: RequestFacts, age: Duration, isDecided: Bool = false) -> Firing? {
        var firing: Firing?
        for (index, rule) in rehearsal.rules.enumerated() {
            guard rule.fault.connectionKeys == nil, rule.applies(to: facts), rule.match.matches(facts) else { continue }
            guard let number = count(index, age: age, mayFire: !isDecided && firing == nil) else { continue }
            firing = Firing(rule: rule.name, fault: fault(rule.fault, index, number))
        }
        return firing
    }

    /// A rule that fires for the TLS handshake of a new connection, with the fault.
    package struct HandshakeFiring: Sendable, Hashable {
        package var rule: String
        package var fault: HandshakeFault
    }

    /// Decides about the TLS handshake of a new connection, in the same way as about a request.
    package mutating func decide(
        _ connection: ConnectionFacts,
        age: Duration,
        isDecided: Bool = false,
    ) -> HandshakeFiring? {
        var firing: HandshakeFiring?
        for (index, rule) in rehearsal.rules.enumerated() {
            guard case .handshake(let fault) = rule.fault, rule.applies(to: connection.interface),
                rule.match.matches(connection)
            else { continue }
            guard count(index, age: age, mayFire: !isDecided && firing == nil) != nil else { continue }
            firing = HandshakeFiring(rule: rule.name, fault: fault)
        }
        return firing
    }

    /// Decides about a new connection after its handshake.
    /// - Returns: whether to refuse the connection.
    package mutating func refuses(
        _ environment: Environment,
        _ interface: ProviderInterface,
        age: Duration,
        isDecided: Bool = false,
    ) -> Bool {
        var isRefused = false
        for (index, rule) in rehearsal.rules.enumerated() where rule.fault == .refuse {
            guard rule.match.environment ?? environment == environment,
                rule.match.interface ?? interface == interface
            else { continue }
            if count(index, age: age, mayFire: !isDecided && !isRefused) != nil { isRefused = true }
        }
        return isRefused
    }

    /// Counts a match of a rule.
    /// - Returns: the number of the match if the rule fires; nil if it does not.
    private mutating func count(_ index: Int, age: Duration, mayFire: Bool) -> UInt64? {
        counts[index].matched &+= 1
        let number = counts[index].matched
        guard mayFire, fires(rehearsal.rules[index].selection, index, number, age) else { return nil }
        counts[index].fired &+= 1
        return number
    }

    private func fires(_ selection: Rehearsal.Selection, _ rule: Int, _ number: UInt64, _ age: Duration) -> Bool {
        switch selection {
        case .always: true
        case .share(let share): chance(rule, number, .firing) < share
        case .first(let count): number <= count
        case .every(let count): number.isMultiple(of: count)
        case .after(let count): number > count
        case .between(let start, let end): start <= age && age < end
        }
    }

    private func fault(_ fault: Rehearsal.Fault, _ rule: Int, _ number: UInt64) -> RequestFault {
        switch fault {
        case .request(let fault): fault
        case .spreadDelay(let median, let p99):
            RequestFault(.delay(Self.delay(chance(rule, number, .delay), median: median, p99: p99)))
        case .refuse, .handshake: RequestFault(.close(.rst))
        }
    }

    /// A delay with a log-normal distribution, which is typical of services. Half of the delays are below `median`,
    /// and 99 % are below `p99`.
    static func delay(_ chance: Double, median: Duration, p99: Duration) -> Duration {
        let (median, p99) = (median / .seconds(1), p99 / .seconds(1))
        guard median > 0, p99 > median else { return .seconds(max(0, median)) }
        // The 99th percentile is 2.3263 standard deviations above the median, on a logarithmic scale.
        let deviation = NormalDistribution.logarithm(p99 / median) / NormalDistribution.quantile(0.99)
        let exponent = deviation * NormalDistribution.quantile(chance)
        let seconds = median * NormalDistribution.exponential(exponent)
        // Compare the numbers, because it may be more than a `Duration` can be, which ends the process.
        return seconds < RehearsalLimits.delay / .seconds(1) ? .seconds(seconds) : RehearsalLimits.delay
    }

    private enum Purpose: UInt64 {
        case firing = 1
        case delay = 2
    }

    /// A pseudorandom number from 0 to below 1. Equal arguments always give the same number.
    private func chance(_ rule: Int, _ number: UInt64, _ purpose: Purpose) -> Double {
        // fits: the index of a rule
        var mixed = Self.mixed(rehearsal.seed &+ 0x9E37_79B9_7F4A_7C15 &* (purpose.rawValue &+ UInt64(rule) &* 4))
        mixed = Self.mixed(mixed ^ number)
        return Double(mixed >> 11) / 0x1p53
    }

    /// Mixes the bits, so that close values give unrelated results: the finaliser of SplitMix64 (Steele, Lea, Flood:
    /// Fast Splittable Pseudorandom Number Generators).
    private static func mixed(_ value: UInt64) -> UInt64 {
        var value = value &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
