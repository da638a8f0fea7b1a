import Delivery
import HTTP2
import NIOCore
import Notifications
import Trust

// Requests that wait: for a key of device tokens that another node may have made, or for a team and an app that are
// made at first sight (`carillon serve --accept any`).
extension DeviceRoute {
    /// A topic that no app has, and the team that sends to it.
    private struct UnknownTopic: Hashable, Sendable {
        let name: String
        let team: TeamID
    }

    /// Returns whether a request is refused only because something is missing here that may exist or can be made: a key
    /// of device tokens, or the app of its topic.
    static func mayBecomeGood(_ request: ProviderRequest, of connection: ProviderConnection) -> Bool {
        guard case .refusal(let rejection) = request.kind else { return false }
        return connection.rules.tokenKeys.mayLackKeys && request.hasUnopenedToken
            || unknownTopic(of: request, rejection, of: connection) != nil
    }

    /// The topic to make before a request can be decided; nil if none is missing, or it would be refused in any case.
    private static func unknownTopic(
        of request: ProviderRequest,
        _ rejection: Rejection,
        of connection: ProviderConnection,
    ) -> UnknownTopic? {
        guard let firstSight = connection.rules.firstSight,
            [.topicDisallowed, .forbidden].contains(rejection.reason), let topic = request.topic.present,
            topic.app.map({ firstSight.isFree($0.id) }) ?? true, let team = request.sender.team
        else { return nil }
        switch request.sender {
        // A key that is restricted to some apps is for no other one.
        case .token(let token) where token.bundleIDs != nil || token.grant != nil: return nil
        case .certificate(let certificate) where !certificate.allows(topic.name): return nil
        default: return UnknownTopic(name: topic.name, team: team)
        }
    }

    private static func unknownTopic(of request: ProviderRequest, of connection: ProviderConnection) -> UnknownTopic? {
        guard case .refusal(let rejection) = request.kind else { return nil }
        return unknownTopic(of: request, rejection, of: connection)
    }

    /// Looks up or makes what the waiting requests need.
    static func search(of connection: ProviderConnection) {
        connection.waiting.beginSearch()
        let (keys, firstSight) = (connection.rules.tokenKeys, connection.rules.firstSight)
        let topics: Set<UnknownTopic> =
            firstSight == nil
            ? []
            : Set(
                connection.waiting.streams.compactMap { stream in
                    connection.requests[stream].flatMap { unknownTopic(of: $0, of: connection) }
                })
        let bound = NIOLoopBound(connection, eventLoop: connection.eventLoop)
        Task {
            for topic in topics { await firstSight?.makeApp(of: topic.name, team: topic.team) }
            let isAnswered = await keys.searchIsAnswered()
            bound.eventLoop.execute { searched(isAnswered: isAnswered, of: bound.value) }
        }
    }

    /// Handles the end of a look-up of keys: decides the requests that waited for it, and those after them up to the
    /// next one that needs a look-up.
    /// - Parameter isAnswered: false if the store could not be asked. It is then unknown whether a token is invalid.
    private static func searched(isAnswered: Bool, of connection: ProviderConnection) {
        let sought = connection.waiting.endSearch()
        var taken = 0
        while let stream = connection.waiting.first {
            let request = connection.requests[stream]
            if let request, mayBecomeGood(request, of: connection) {
                decideAgain(request, of: connection)
                if mayBecomeGood(request, of: connection) {
                    guard taken < sought else { break }
                    if !isAnswered, request.hasUnopenedToken { request.kind = .refusal(.keysNotFound) }
                }
            }
            connection.waiting.removeFirst()
            taken += 1
            if let request { submit(request, on: stream, of: connection) }
        }
        submitBatch(of: connection)
        connection.memory.endBatch()
        if !connection.waiting.isEmpty { search(of: connection) }
    }

    /// Decides a request again with the accounts of now.
    private static func decideAgain(_ request: ProviderRequest, of connection: ProviderConnection) {
        // The topic's app may have been made, or be another one than before.
        if connection.rules.firstSight != nil, let topic = request.topic.present {
            request.accountsVersion = connection.memory.version(connection.api)
            request.topic = .value(connection.memory.topic(topic.name, api: connection.api))
        }
        connection.decide(request)
    }
}

extension Rejection {
    static let keysNotFound = Rejection(
        .serviceUnavailable, detail: "The key of the device token could not be looked up.")
}
