import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

// The faults that a rehearsal causes on a connection. They happen after the gateway has decided about a request.
extension ProviderConnection {
    var provider: ProviderGateway { gateway }

    /// Carries out a fault on a request that was accepted.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ submission: Submission) {
        beginRehearsal()
        if fault.actsBeforeAcceptance { return misbehave(fault, on: stream) }
        switch fault.kind {
        case .goAway, .settings:
            change(by: fault.kind, stream)
            batch.append(submission)
        case .omit:
            requests[stream]?.omitsUniqueID = true
            batch.append(submission)
        case .duplicate(let count):
            // The copies have the same ticket, and the first answer is used.
            batch.append(contentsOf: repeatElement(submission, count: count))
        case .answer, .reset, .close, .hang, .delay, .lose, .errorPacket:
            rehearsed?.set(fault, on: stream)
            batch.append(submission)
        }
    }

    /// Does what a fault on a broadcast does before the broadcast is handed over.
    /// - Returns: Whether it is handed over.
    func prepare(_ fault: RequestFault, on stream: StreamID) -> Bool {
        beginRehearsal()
        guard !fault.actsBeforeAcceptance else {
            misbehave(fault, on: stream)
            return false
        }
        switch fault.kind {
        case .goAway, .settings: change(by: fault.kind, stream)
        case .omit: requests[stream]?.omitsUniqueID = true
        case .duplicate: break
        case .answer, .reset, .close, .hang, .delay, .lose, .errorPacket: rehearsed?.set(fault, on: stream)
        }
        return true
    }

    /// Carries out a fault on a request that is rejected.
    func carryOut(_ fault: RequestFault, on stream: StreamID, _ rejection: Rejection) {
        beginRehearsal()
        switch fault.kind {
        case .goAway, .settings:
            change(by: fault.kind, stream)
            refuse(stream, rejection)
        case .delay(let delay):
            markHandled(stream)
            later(stream, delay) { $0.refuse(stream, rejection) }
        case .duplicate, .omit, .errorPacket:
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

    private func change(by kind: RequestFault.Kind, _ stream: StreamID) {
        switch kind {
        case .goAway(let reason, let left):
            rehearsed?.plan(reason, after: left, causedBy: stream)
        case .settings(let streams):
            rehearsed?.concurrentStreams = streams
            session?.announce(concurrentStreams: streams)
        default: break
        }
    }

    func misbehave(_ fault: RequestFault, on stream: StreamID) {
        markHandled(stream)
        if fault.kind == .lose { answerNow(stream, .accepted) } else { spoilAnswer(fault, on: stream) }
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
