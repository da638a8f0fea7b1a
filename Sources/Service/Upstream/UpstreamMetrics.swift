package import CoreMetrics
import Delivery
import NIOCore
import Notifications
import Synchronization

/// What forwarding counts, by app and environment, and by grant (docs/metrics.md).
package final class UpstreamMetrics: Sendable {
    private let factory: any MetricsFactory
    private let places = Mutex<[UpstreamPlace: PlaceMetrics]>([:])
    private let grants = Mutex<[GrantID: GrantMetrics]>([:])
    private let hosts = Mutex<[String: ConnectionGauge]>([:])
    private let tokens: Counter

    package init(factory: any MetricsFactory) {
        self.factory = factory
        tokens = Counter(label: "carillon_upstream_tokens_made_total", factory: factory)
    }

    func of(_ place: UpstreamPlace) -> PlaceMetrics {
        places.withLock { places in
            if let known = places[place] { return known }
            let new = PlaceMetrics(place, factory)
            places[place] = new
            return new
        }
    }

    /// - Returns: nil if a team has sent the notification.
    func of(_ share: ForwardingShare) -> GrantMetrics? {
        guard let grant = GrantID(rawValue: share.rawValue) else { return nil }
        return grants.withLock { grants in
            if let known = grants[grant] { return known }
            let new = GrantMetrics(grant, factory)
            grants[grant] = new
            return new
        }
    }

    func connections(of host: String) -> ConnectionGauge {
        hosts.withLock { hosts in
            if let known = hosts[host] { return known }
            let new = ConnectionGauge(
                Meter(label: "carillon_upstream_connections", dimensions: [("upstream", host)], factory: factory))
            hosts[host] = new
            return new
        }
    }

    /// 1 while the upstream refuses the gateway's own key or certificate, otherwise 0.
    func refusedCredentials(of place: UpstreamPlace) -> Meter {
        Meter(
            label: "carillon_upstream_credentials_refused",
            dimensions: [("app", place.bundleID.rawValue), ("environment", place.environment.rawValue)],
            factory: factory)
    }

    func madeToken() { tokens.increment() }
}

/// What is counted for one app in one environment.
final class PlaceMetrics: Sendable {
    private let factory: any MetricsFactory
    private let dimensions: [(String, String)]
    private let forwardings: Counter
    private let duration: Timer
    private let answers = Mutex<[String: Counter]>([:])

    init(_ place: UpstreamPlace, _ factory: any MetricsFactory) {
        self.factory = factory
        dimensions = [("app", place.bundleID.rawValue), ("environment", place.environment.rawValue)]
        forwardings = Counter(label: "carillon_forwarded_total", dimensions: dimensions, factory: factory)
        duration = Timer(label: "carillon_upstream_seconds", dimensions: dimensions, factory: factory)
    }

    func sent(_ count: Int) { forwardings.increment(by: count) }

    func answered(_ answer: ForwardingAnswer, after time: TimeAmount) {
        duration.recordNanoseconds(time.nanoseconds)
        counter(Self.label(answer)).increment()
    }

    /// The label of an answer. A reason that Apple's documentation does not have counts as `other`, so that an upstream cannot
    /// make labels.
    static func label(_ answer: ForwardingAnswer) -> String {
        switch answer {
        case .failed: "none"
        case .answered(let answer):
            answer.status == 200
                ? "200" : answer.reason.flatMap(Rejection.Reason.init(rawValue:))?.rawValue ?? "other"
        }
    }

    private func counter(_ answer: String) -> Counter {
        answers.withLock { counters in
            if let known = counters[answer] { return known }
            let new = Counter(
                label: "carillon_upstream_answers_total", dimensions: dimensions + [("answer", answer)],
                factory: factory)
            counters[answer] = new
            return new
        }
    }
}

/// What is counted for one grant. There may be thousands of grants, so there is no histogram for each: the two numbers give
/// the mean.
struct GrantMetrics {
    private let forwardings: Counter
    private let duration: FloatingPointCounter

    init(_ grant: GrantID, _ factory: any MetricsFactory) {
        let dimensions = [("grant", grant.rawValue)]
        forwardings = Counter(label: "carillon_grant_forwarded_total", dimensions: dimensions, factory: factory)
        duration = FloatingPointCounter(
            label: "carillon_grant_upstream_seconds_total", dimensions: dimensions, factory: factory)
    }

    func answered(after time: TimeAmount) {
        forwardings.increment()
        duration.increment(by: Double(time.nanoseconds) / 1e9)
    }
}

/// The connections to one host, of all pools.
final class ConnectionGauge: Sendable {
    private let meter: Meter
    private let count = Mutex(0)

    init(_ meter: Meter) { self.meter = meter }

    func change(by difference: Int) {
        count.withLock { count in
            count += difference
            meter.set(count)
        }
    }
}
