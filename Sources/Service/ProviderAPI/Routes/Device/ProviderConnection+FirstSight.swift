import HTTP2
import NIOCore
import Notifications
import Trust

// Requests whose team or topic the service does not know (`carillon serve --accept any`). They wait until both are made,
// in the same way as requests that wait for a key of device tokens.
extension ProviderConnection {
    /// A topic that no app has, and the team that sends to it.
    struct UnknownTopic: Hashable, Sendable {
        let name: String
        let team: TeamID
    }

    /// The topic to make before a request can be decided; nil if none is missing, or it would be refused in any case.
    func unknownTopic(of request: ProviderRequest) -> UnknownTopic? {
        guard rules.firstSight != nil, case .failure(let rejection)? = request.verdict,
            [.topicDisallowed, .forbidden].contains(rejection.reason), let topic = request.topic.present,
            topic.app == nil, let team = request.sender.team
        else { return nil }
        switch request.sender {
        // A key that is restricted to some apps is for no other one.
        case .token(let token) where token.bundleIDs != nil || token.grant != nil: return nil
        case .certificate(let certificate) where !certificate.allows(topic.name): return nil
        default: return UnknownTopic(name: topic.name, team: team)
        }
    }

    /// The topics to make for the requests that wait.
    var unknownTopics: Set<UnknownTopic> {
        guard rules.firstSight != nil else { return [] }
        return Set(waiting.streams.compactMap { requests[$0].flatMap(unknownTopic) })
    }

    /// Decides a request again with the accounts of now.
    func decideAgain(_ request: ProviderRequest) {
        if unknownTopic(of: request) != nil, let topic = request.topic.present {
            request.accountsVersion = memory.version(api)
            request.topic = .value(memory.topic(topic.name, api: api))
        }
        request.decide(by: rules)
    }
}
