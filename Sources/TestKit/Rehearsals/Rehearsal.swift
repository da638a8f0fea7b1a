package import Matching
import Notifications

/// A script of faults: the document that `POST /v1/rehearsals` takes.
package struct Rehearsal: Sendable {
    /// The seed of all random decisions.
    package var seed: UInt64
    /// How long the rehearsal is active.
    package var life: Duration
    package var rules: [Rule]

    package init(seed: UInt64 = 0, life: Duration = RehearsalLimits.defaultLife, rules: [Rule]) {
        self.seed = seed
        self.life = life
        self.rules = rules
    }

    /// One fault, and the selection of the requests for which it fires.
    package struct Rule: Sendable {
        package var name: String
        package var match: RequestMatch
        package var selection: Selection
        package var fault: Fault

        package init(name: String, match: RequestMatch, selection: Selection = .always, fault: Fault) {
            self.name = name
            self.match = match
            self.selection = selection
            self.fault = fault
        }

        /// Whether the rule's fault is possible on an interface. For example, the binary API has no GOAWAY.
        func applies(to interface: ProviderInterface) -> Bool { fault.interfaces.contains(interface) }

        /// Whether the rule is about a request. A binary connection ends with a notification that is refused, so no
        /// fault comes after it. A message of Web Push that is refused cannot be lost, nor come twice.
        func applies(to facts: RequestFacts) -> Bool {
            guard applies(to: facts.interface) else { return false }
            guard facts.outcome == .rejected else { return true }
            return switch facts.interface {
            case .binary: false
            case .webPush: fault.name != .lose && fault.name != .duplicate
            case .http2, .channels, .management: true
            }
        }
    }

    /// Selects the matching requests for which the rule fires. Each rule counts its matching requests from 1.
    package enum Selection: Sendable, Hashable {
        case always
        /// This share of the requests, chosen at random.
        case share(Double)
        /// The requests up to this number.
        case first(UInt64)
        /// Every request whose number is a multiple of this.
        case every(UInt64)
        /// The requests after this number.
        case after(UInt64)
        /// The requests between two times, which are counted from the rehearsal's beginning by the machine's clock.
        case between(Duration, Duration)
    }

    /// The kinds of faults in a script.
    package enum Fault: Sendable, Hashable {
        case request(RequestFault)
        /// The answer is delayed by a time that differs from request to request.
        case spreadDelay(median: Duration, p99: Duration)
        /// The service closes new connections.
        case refuse
        /// Something goes wrong in the TLS handshake of new connections.
        case handshake(HandshakeFault)
    }
}

extension Rehearsal.Fault {
    package var name: FaultName {
        switch self {
        case .request(let fault): fault.kind.name
        case .spreadDelay: .delay
        case .refuse: .refuse
        case .handshake(let fault): fault.name
        }
    }

    /// Whether the fault is about TLS handshakes.
    package var isHandshake: Bool {
        guard case .handshake = self else { return false }
        return true
    }

    /// The keys that the match may have if the fault is about new connections; nil if it is about requests.
    var connectionKeys: [RequestMatch.Member]? { name.connectionKeys }

    /// The interfaces on which the fault is possible.
    var interfaces: [ProviderInterface] { name.row.interfaces }
}
