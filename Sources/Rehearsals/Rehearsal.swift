package import Matching
import Notifications

/// A script of faults, as `POST /v1/rehearsals` takes it.
package struct Rehearsal: Sendable {
    /// The seed of all random decisions.
    package var seed: UInt64
    /// The time that the rehearsal is active.
    package var life: Duration
    package var rules: [Rule]

    package init(seed: UInt64 = 0, life: Duration = RehearsalLimits.defaultLife, rules: [Rule]) {
        self.seed = seed
        self.life = life
        self.rules = rules
    }

    /// One fault, and when it fires.
    package struct Rule: Sendable {
        package var name: String
        package var match: RequestMatch
        package var condition: Condition
        package var fault: Fault

        package init(name: String, match: RequestMatch, condition: Condition = .always, fault: Fault) {
            self.name = name
            self.match = match
            self.condition = condition
            self.fault = fault
        }

        /// Whether the rule is about requests on an interface: a GOAWAY is none of the binary API's.
        func applies(to interface: ProviderInterface) -> Bool { fault.interfaces.contains(interface) }
    }

    /// Which of the requests that a rule matches it fires for. Requests are counted from 1.
    package enum Condition: Sendable, Hashable {
        case always
        /// A part of all requests, by chance.
        case share(Double)
        /// The first ones, up to this number.
        case first(UInt64)
        /// Each request whose number can be divided by this.
        case every(UInt64)
        /// All except the first ones, up to this number.
        case after(UInt64)
        /// From one moment of the rehearsal to another, by the machine's clock.
        case between(Duration, Duration)
    }

    /// The kinds of faults.
    package enum Fault: Sendable, Hashable {
        case request(RequestFault)
        /// Answered late by a time that differs from request to request.
        case spreadDelay(median: Duration, p99: Duration)
        /// New connections are closed.
        case refuse
    }
}

extension Rehearsal.Fault {
    /// Where the fault makes sense.
    var interfaces: [ProviderInterface] {
        guard case .request(let fault) = self else { return ProviderInterface.ofProviders }
        switch fault.kind {
        case .answer, .goAway, .reset: return [.http2, .channels]
        case .settings: return [.http2]
        case .errorPacket: return [.binary]
        case .close, .hang, .delay: return ProviderInterface.ofProviders
        case .lose, .duplicate: return ProviderInterface.ofNotifications
        }
    }
}
