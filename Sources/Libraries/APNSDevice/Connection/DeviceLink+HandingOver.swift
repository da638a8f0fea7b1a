import NIOCore

// Hands notifications to the app, one after the other.
extension DeviceLink {
    /// The time that acknowledgements wait for more while the app takes the next notification. It is far less than
    /// the 50 ms after which the service stores an unacknowledged notification.
    private static let gatheringTime = TimeAmount.milliseconds(10)

    /// Hands the next notification to the app, unless it is still taking one.
    func handOverNext() {
        guard !inbox.isTaking, closing == nil, let notification = inbox.popFirst() else { return }
        inbox.isTaking = true
        let bound = bound
        let (delegate, received, observer) = (delegate, seen, configuration.observer)
        Task {
            if await received.contains(notification.id) {
                observer?.duplicateReceived()
            } else {
                await delegate.received(notification)
                do {
                    try await received.insert(notification.id)
                } catch {
                    let cause = "A received notification could not be recorded: \(error)"
                    delegate.reported(DeviceError(.storage, cause))
                }
            }
            bound.eventLoop.execute { bound.value.taken(notification.sending) }
        }
    }

    private func taken(_ sending: UInt64) {
        inbox.isTaking = false
        acknowledgements.taken(sending)
        if case .connected(let connection) = state, inbox.hasRoomAgain() { connection.resume() }
        handOverNext()
        if inbox.isTaking { acknowledgeSoon() } else { acknowledge() }
        closeIfDone()
    }

    /// Waits a moment before acknowledging, so that the notifications that the app takes meanwhile go into the same
    /// request.
    private func acknowledgeSoon() {
        guard !isGathering else { return }
        isGathering = true
        let bound = bound
        eventLoop.scheduleTask(in: Self.gatheringTime) {
            bound.value.isGathering = false
            bound.value.acknowledge()
        }
    }
}
