import HTTP2
import NIOCore
import Notifications
import Trust

// Requests that wait: for a key of device tokens that another node may have made, or for a team and an app that are
// made at first sight.
extension ProviderConnection {
    /// Returns whether a request is refused only because something is missing here that may exist or can be made: a key
    /// of device tokens, or the app of its topic.
    func mayBecomeGood(_ request: ProviderRequest) -> Bool {
        rules.tokenKeys.mayLackKeys && request.hasUnopenedToken || unknownTopic(of: request) != nil
    }

    func findKeys() {
        waiting.beginSearch()
        let (keys, connection) = (rules.tokenKeys, NIOLoopBound(self, eventLoop: eventLoop))
        let (topics, firstSight) = (unknownTopics, rules.firstSight)
        Task {
            for topic in topics { await firstSight?.makeApp(of: topic.name, team: topic.team) }
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
                decideAgain(request)
                if mayBecomeGood(request) {
                    guard taken < sought else { break }
                    if !isAnswered, request.hasUnopenedToken { request.verdict = .failure(.keysNotFound) }
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
