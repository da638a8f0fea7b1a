import HTTP2
import NIOCore
import Notifications
import Trust

// Device tokens whose key another node may have made.
extension ProviderConnection {
    /// Returns whether a request is refused only for its device token, and only because a key that may exist is
    /// missing here.
    func mayBecomeGood(_ request: ProviderRequest) -> Bool {
        gateway.rules.tokenKeys.mayLackKeys && request.hasUnopenedToken
    }

    func findKeys() {
        waiting.beginSearch()
        let (keys, connection) = (gateway.rules.tokenKeys, NIOLoopBound(self, eventLoop: eventLoop))
        Task {
            let isAnswered = await keys.searchIsAnswered()
            connection.eventLoop.execute { connection.value.searched(isAnswered: isAnswered) }
        }
    }

    /// Handles the end of a look-up of keys: decides the requests that waited for it, and those after them up to the
    /// next one that needs a look-up.
    /// - Parameter isAnswered: false if the store could not be asked. It is then unknown whether a token is invalid.
    private func searched(isAnswered: Bool) {
        let sought = waiting.endSearch()
        var taken = 0
        while let stream = waiting.first {
            let request = requests[stream]
            if let request, mayBecomeGood(request) {
                request.decide(by: gateway.rules)
                if mayBecomeGood(request) {
                    guard taken < sought else { break }
                    if !isAnswered { request.verdict = .failure(.keysNotFound) }
                }
            }
            waiting.removeFirst()
            taken += 1
            if let request { submit(stream, request) }
        }
        submitBatch()
        memory.endBatch()
        if !waiting.isEmpty { findKeys() }
    }
}

extension Rejection {
    static let keysNotFound = Rejection(
        .serviceUnavailable, detail: "The key of the device token could not be looked up.")
}
