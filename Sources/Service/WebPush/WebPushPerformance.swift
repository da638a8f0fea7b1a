import HTTPAPI
import Hummingbird
import Matching
import NIOCore
import Notifications

/// What a rehearsal does to one request (docs/testing.md), and what the journal learns of its answer.
struct WebPushPerformance: Sendable {
    private let number: UInt64
    private let fault: RequestFault?
    private let link: WebPushLink
    private let journal: WebPushJournal?

    init(_ decision: RequestDecision, _ link: WebPushLink, _ journal: WebPushJournal?) {
        number = decision.number
        (self.link, self.journal) = (link, journal)
        if case .misbehave(_, let fault) = decision { self.fault = fault } else { fault = nil }
    }

    /// How often the message is handed to `Delivery`.
    var times: Int {
        guard case .duplicate(let count) = fault?.kind else { return 1 }
        return count
    }

    /// Does what a fault does before the message is accepted.
    /// - Parameter response: the answer without a fault.
    /// - Returns: the answer; nil if the request goes its usual way.
    func instead(of response: Response, reason: String?) async -> Response? {
        guard let fault, fault.actsBeforeAcceptance else { return nil }
        return await perform(fault, response, reason)
    }

    /// Does what a fault does to an answer, and notes it.
    /// - Parameter reason: why the message was refused, in a sentence; nil if it was accepted.
    func finish(_ response: Response, reason: String?) async -> Response {
        guard let fault else { return answered(response, reason) }
        return await perform(fault, response, reason)
    }

    private func perform(_ fault: RequestFault, _ response: Response, _ reason: String?) async -> Response {
        switch fault.kind {
        case .answer(let rejection, let retryAfter):
            let problem = Problem(rejection.reason.status, rejection.detail ?? rejection.reason.rawValue)
            return answered(
                WebPushAnswer.problem(problem, retryAfter: retryAfter), rejection.reason.rawValue,
                hidesAcceptance: fault.isAccepted && response.status.kind == .successful)
        case .delay(let delay): await link.wait(delay)
        case .close(let kind):
            unanswered(fault)
            link.close(kind)
            return response
        case .hang:
            unanswered(fault)
            await link.wait(RequestFault.longest)
            link.close(.fin)
            return response
        case .lose, .duplicate, .goAway, .reset, .settings, .omit, .errorPacket: break
        }
        return answered(response, reason)
    }

    /// - Parameter hidesAcceptance: whether the message was accepted, and the answer says otherwise.
    private func answered(_ response: Response, _ reason: String?, hidesAcceptance: Bool = false) -> Response {
        journal?.answered(number, response.status.code, reason: reason, hidesAcceptance: hidesAcceptance)
        return response
    }

    private func unanswered(_ fault: RequestFault) {
        journal?.unanswered(number, isDiscarded: fault.actsBeforeAcceptance)
    }
}
