import Delivery
import HTTP2
import Matching
import Notifications
import Trust

// Reporting requests to observers.
extension ProviderConnection {
    /// Reports the decision about a request to the observer.
    /// - Parameter submission: the submission if the provider API accepts the request and is about to pass it to
    ///   `Delivery`; nil if it rejects the request.
    /// - Returns: What to do with the request; nil if nobody observes it.
    func decision(_ request: ProviderRequest, _ submission: Submission?, _ rejection: Rejection?) -> RequestDecision? {
        guard let watched = request.watched, let observation = api.observation else { return nil }
        let id = request.identify(using: &random)
        if practice.priorityFault != nil { watched.practices.insert(.priorityFrames) }
        var facts = request.facts(
            watched, submission, rejection, id: id, connection: number, at: api.clock.time, by: rules,
            memory.current(api))
        facts.serverName = serverName
        let decision = observation.observer.decided(facts)
        watched.number = decision.number
        let team = facts.team ?? newestObserved.team
        // From the GOAWAY on, other connections have what the client sends again, with greater numbers.
        let isEnding = session?.isDraining ?? true
        newestObserved = (isEnding ? newestObserved.number : decision.number, team)
        return decision
    }

    func observeUnused() {
        guard let observation = api.observation, observation.isActive else { return }
        let team = certificate.flatMap {
            api.accounts.current.team(ofCertificate: $0.serial, uid: $0.uid, foreignTeam: $0.foreignTeam)
        }
        observation.observer.connectionUnused(
            UnusedConnection(number: number, environment: api.environment, interface: .http2, team: team))
    }

    /// Reports the requests that came when the connection was ending.
    func observeUnprocessed(_ streams: UnprocessedStreams) {
        guard streams.count > 0, let observation = api.observation, observation.isActive else { return }
        let fingerprints = streams.requests.compactMap { request -> Int? in
            guard request.isComplete, let path = request.path.map({ String(decoding: $0, as: UTF8.self) }),
                let token = ProviderRequest.token(inPath: path)
            else { return nil }
            return UnprocessedRequests.fingerprint(token: token, body: request.body)
        }
        observation.observer.unprocessed(
            UnprocessedRequests(
                connection: number, environment: api.environment, team: newestObserved.team,
                after: newestObserved.number, fingerprints: fingerprints,
                unknown: max(0, streams.count - fingerprints.count)))
    }

    func answered(_ watched: WatchedRequest, _ answer: RequestAnswer) {
        guard let number = watched.number else { return }
        api.observation?.observer.answered(number, answer)
    }
}
