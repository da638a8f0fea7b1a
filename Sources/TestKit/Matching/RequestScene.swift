package import Notifications

/// One request of a provider as tests see and disturb it. This is the port between the provider APIs and the stage, which
/// makes a scene for each request that somebody observes. An API asks two questions about a request that has a scene.
package protocol RequestScene: AnyObject {
    /// Asked once, when the API has decided about the request and has not carried its decision out.
    /// - Parameter facts: the request as the API knows it. The scene adds what it has seen itself.
    func performance(of facts: RequestFacts) -> Performance

    /// Asked when the API knows the answer and has not written it. Of several answers only the first is written.
    /// - Parameter later: writes the answer. If the answer is to be late, the scene calls it.
    /// - Returns: whether the API writes the answer now.
    func mayAnswer(_ answer: RequestAnswer, later: @escaping () -> Void) -> Bool

    /// The request's number; nil before the first question.
    var number: UInt64? { get }
}

/// What an API does with a request about which it has decided.
package struct Performance: Sendable, Hashable {
    /// How often the API carries out its decision. 0 if the scene does something else with the request.
    package var times = 1
    /// The header that the answer lacks.
    package var omits: RequestFault.OmittedHeader?

    package init(times: Int = 1) { self.times = times }
}

/// A connection of a provider API, of which a stage changes what it does.
package protocol StagePerformer: AnyObject {
    /// The scene of the request that begins next; nil if it has none.
    var scene: (any RequestScene)? { get set }
    /// The number of streams to announce in place of the API's own.
    var fixedStreams: Int? { get set }
    /// Why the connection is ending; nil if it is not.
    var goneAway: Rejection.Reason? { get }

    /// Answers a request about which the API has not decided, or of which the answer has not been written.
    /// - Parameters:
    ///   - ticket: the connection's number for the request.
    ///   - rejection: nil to accept the request.
    ///   - retryAfter: in seconds; nil for an answer without that header.
    func answer(_ ticket: UInt64, with rejection: Rejection?, retryAfter: Int?)
}
