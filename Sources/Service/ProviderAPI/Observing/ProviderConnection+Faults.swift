import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

// The faults that a rehearsal causes on a connection. They happen after the gateway has decided about a request.
extension ProviderConnection {
    var provider: ProviderAPI { api }

    /// Does what a fault does before an accepted request is handed over.
    /// - Returns: How many times it is handed over. The copies of a notification have the same ticket, and the first
    ///   answer is used.
    func prepare(_ fault: RequestFault, on stream: StreamID) -> Int {
        beginRehearsal()
        guard !fault.actsBeforeAcceptance else {
            misbehave(fault, on: stream)
            return 0
        }
        change(by: fault.kind, stream)
        switch fault.kind {
        case .goAway, .settings: break
        case .omit: requests[stream]?.omitsUniqueID = true
        case .duplicate(let count): return count
        case .answer, .reset, .close, .hang, .delay, .lose, .errorPacket: rehearsed?.set(fault, on: stream)
        }
        return 1
    }

    /// Carries out a fault on a request that is rejected.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ rejection: Rejection) {
        beginRehearsal()
        change(by: fault.kind, stream)
        switch fault.kind {
        case .delay(let delay):
            markHandled(stream)
            later(stream, delay) { $0.refuse(stream, rejection) }
        case .goAway, .settings, .duplicate, .omit, .errorPacket:
            refuse(stream, rejection)
        case .answer, .reset, .close, .hang, .lose:
            misbehave(fault, on: stream)
        }
    }

    /// Returns whether a rehearsal handles an answer of `Delivery`.
    func isRehearsed(_ stream: StreamID, _ outcome: Outcome) -> Bool {
        // The client may have cancelled the request meanwhile, or this is the answer to a copy.
        guard let request = requests[stream], !request.isAnswered else { return true }
        guard let fault = rehearsed?.removeFault(of: stream) else { return false }
        if case .delay(let delay) = fault.kind {
            later(stream, delay) { $0.answerNow(stream, outcome) }
        } else {
            misbehave(fault, on: stream)
        }
        return true
    }

    /// Changes what the connection as a whole does, if the fault is about that.
    private func change(by kind: RequestFault.Kind, _ stream: StreamID) {
        switch kind {
        case .goAway(let reason, let left):
            rehearsed?.plan(reason, after: left, causedBy: stream)
        case .settings(let streams):
            rehearsed?.concurrentStreams = streams
            session?.announce(concurrentStreams: streams)
        case .answer, .reset, .close, .hang, .delay, .lose, .duplicate, .omit, .errorPacket: break
        }
    }

    func misbehave(_ fault: RequestFault, on stream: StreamID) {
        markHandled(stream)
        if fault.losesNotification { answerNow(stream, .accepted) } else { spoilAnswer(fault, on: stream) }
    }

    /// Marks the request as handled and releases its body.
    private func markHandled(_ stream: StreamID) {
        guard let request = requests[stream] else { return }
        request.isHandled = true
        request.body = []
    }

    func number(of stream: StreamID) -> UInt64? {
        requests[stream]?.watched?.number
    }
}
