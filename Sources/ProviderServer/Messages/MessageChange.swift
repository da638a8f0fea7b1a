import ProviderStore

/// What somebody may do with a message that is not over.
enum MessageChange: String, Sendable, CaseIterable {
    case pause
    case resume
    case cancel

    /// Changes the message's state. A change that was made already does nothing.
    func apply(to message: inout MessageRecord) throws(APIProblem) {
        switch (self, message.state) {
        case (.pause, .paused), (.resume, .scheduled), (.resume, .running), (.cancel, .cancelled): return
        case (_, .finished), (_, .cancelled):
            throw APIProblem(409, "The message is \(message.state.rawValue).")
        case (.pause, _): message.state = .paused
        // The desk sets running when it begins; its time may not have come.
        case (.resume, _): message.state = message.position.last == nil ? .scheduled : .running
        case (.cancel, _): message.state = .cancelled
        }
        message.cause = nil
    }
}
