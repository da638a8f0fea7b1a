import NIOCore

/// A request on its way through the client, with the closure that takes its answer. It is completed exactly once.
final class Ticket: Sendable {
    typealias Answer = Result<PushAnswer, ProviderError>

    let request: PushRequest
    let deadline: NIODeadline
    let retriesRejections: Bool
    /// Whether the request waits for a connection while the service cannot be reached. If not, it fails as soon as this is
    /// known.
    let waitsForConnection: Bool
    /// Whether the request is sent again with a new provider token if the service calls the present one expired, even if
    /// it does not retry other rejections.
    let renewsTokens: Bool
    /// Who the request is from, if requests of several wait for the same connections; see ``FairQueue``.
    let share: String?
    let cancellation: Cancellation
    /// Takes the answer, on the event loop. If it returns a reader, wake it after all answers that arrived together.
    let complete: @Sendable (Answer) -> (any AnswerReader)?

    /// - Parameter waitsForConnection: nil for the same as `retriesRejections`.
    init(
        _ request: PushRequest,
        deadline: NIODeadline,
        retriesRejections: Bool,
        waitsForConnection: Bool? = nil,
        renewsTokens: Bool = false,
        share: String? = nil,
        cancellation: Cancellation,
        complete: @escaping @Sendable (Answer) -> (any AnswerReader)?,
    ) {
        self.request = request
        self.deadline = deadline
        self.retriesRejections = retriesRejections
        self.waitsForConnection = waitsForConnection ?? retriesRejections
        self.renewsTokens = renewsTokens
        self.share = share
        self.cancellation = cancellation
        self.complete = complete
    }
}

/// A reader of many answers that is woken once for all that have arrived.
package protocol AnswerReader: AnyObject, Sendable {
    func wake()
}

/// A ticket and the attempts so far.
struct Job {
    let ticket: Ticket
    /// The number of times that the request was sent.
    var attempts = 0
    /// The number of times that a new provider token was made for it.
    var renewals = 0
    /// The provider token of the last attempt.
    var token: String?
    /// The time at which it is sent again.
    var due = NIODeadline.uptimeNanoseconds(0)
    private var box: Box?

    init(_ ticket: Ticket) { self.ticket = ticket }

    /// The reason why it has no answer yet, if that is known.
    var trouble: ProviderError? {
        get { box?.error }
        set { box = newValue.map { Box($0, nil) } }
    }

    /// Notes that the service calls its provider token expired, so that it waits for a new one.
    mutating func rejected(_ answer: PushAnswer) { box = Box(answer.error, answer) }

    /// What it ends with if it is not sent again: the rejection after which it waited for a new provider token. Without one,
    /// this error.
    func ending(_ error: ProviderError) -> Ticket.Answer { box?.rejection.map { .success($0) } ?? .failure(error) }

    /// Jobs are moved several times and rarely have an error. Storing the error inline would make them six times as
    /// large.
    private final class Box {
        let error: ProviderError
        let rejection: PushAnswer?
        init(_ error: ProviderError, _ rejection: PushAnswer?) { (self.error, self.rejection) = (error, rejection) }
    }
}
