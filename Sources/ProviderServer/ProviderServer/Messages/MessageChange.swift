import CampaignStore
import HTTPAPI

/// The changes that a sender can make to a message that has not ended.
enum MessageChange: String, Sendable, CaseIterable {
    case pause
    case resume
    case cancel

    /// What the request does, in a few words.
    var summary: String {
        switch self {
        case .pause: "Pause a message"
        case .resume: "Resume a message"
        case .cancel: "Stop a message for ever"
        }
    }

    /// Changes the message's state. If the message has this state already, does nothing.
    func apply(to message: inout MessageRecord) throws(Problem) {
        switch (self, message.state) {
        case (.pause, .paused), (.resume, .scheduled), (.resume, .running), (.cancel, .cancelled): return
        case (_, .finished), (_, .cancelled):
            throw Problem(409, "The message is \(message.state.rawValue).")
        case (.pause, _): message.state = .paused
        // If the message had not begun, its time may be in the future. `CampaignScheduler` sets it to running when it
        // begins.
        case (.resume, _): message.state = message.position.last == nil ? .scheduled : .running
        case (.cancel, _): message.state = .cancelled
        }
        message.cause = nil
    }
}
