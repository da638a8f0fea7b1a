import NIOCore

/// A request on its way through the client, and who waits for its answer. It is completed exactly once.
final class Ticket: Sendable {
    typealias Answer = Result<PushAnswer, ProviderError>

    let request: PushRequest
    let deadline: NIODeadline
    let retriesRejections: Bool
    let cancellation: Cancellation
    /// Takes the answer, on the event loop. Returns who is to be woken once the answers that came together are in.
    let complete: @Sendable (Answer) -> (any AnswerReader)?

    init(
        _ request: PushRequest,
        deadline: NIODeadline,
        retriesRejections: Bool,
        cancellation: Cancellation,
        complete: @escaping @Sendable (Answer) -> (any AnswerReader)?,
    ) {
        self.request = request
        self.deadline = deadline
        self.retriesRejections = retriesRejections
        self.cancellation = cancellation
        self.complete = complete
    }
}

/// Somebody who reads many answers, and is woken once for all that have come.
protocol AnswerReader: AnyObject, Sendable {
    func wake()
}

/// A ticket with what has happened to it so far.
struct Job {
    let ticket: Ticket
    /// How often it was sent.
    var attempts = 0
    /// How often a new provider token was made for it.
    var renewals = 0
    /// The provider token it was last sent with.
    var token: String?
    /// When it is sent again.
    var due = NIODeadline.uptimeNanoseconds(0)
    private var box: Box?

    init(_ ticket: Ticket) { self.ticket = ticket }

    /// Why it is not answered yet, where that is known.
    var trouble: ProviderError? {
        get { box?.error }
        set { box = newValue.map { Box($0) } }
    }

    /// Few jobs have trouble, and each is moved several times: an error by itself would make it six times as large.
    private final class Box {
        let error: ProviderError
        init(_ error: ProviderError) { self.error = error }
    }
}
