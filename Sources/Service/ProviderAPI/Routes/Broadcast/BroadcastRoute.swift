import Delivery
import HTTP2
import Matching
import NIOCore
import Notifications

/// Sends broadcasts: requests to `/4/broadcasts/apps/` and a bundle ID (docs/channels.md).
enum BroadcastRoute {
    /// Sends the broadcast of a request that has ended, or rejects it.
    static func ended(
        _ request: ProviderRequest,
        _ push: BroadcastPush,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        do throws(Rejection) {
            try connection.checkAgain(
                request, to: push.app.id,
                deletion: Rejection(.topicMismatch, detail: "The app \(push.app.bundleID) was deleted."))
            let id = request.identify(using: &connection.identifiers)
            let notification = try connection.rules.notification(request, to: push, id: id)
            let times = connection.times(request)
            request.isHandled = true
            request.body = []
            if times > 0 { send(notification, to: push.channel, times: times, request, on: stream, of: connection) }
        } catch {
            connection.reject(stream, error)
        }
    }

    /// Hands a broadcast over, and answers when it is stored or under way.
    /// - Parameter times: how often devices get it.
    private static func send(
        _ notification: Notification,
        to channel: ChannelKey,
        times: Int,
        _ request: ProviderRequest,
        on stream: StreamID,
        of connection: ProviderConnection,
    ) {
        let broadcasts = connection.api.broadcasts
        let connection = NIOLoopBound((connection, request), eventLoop: connection.eventLoop)
        Task {
            let result: Result<BroadcastResult, Rejection>
            do throws(Rejection) {
                let first = try await broadcasts.send(notification, to: channel)
                for _ in 1..<max(times, 1) { try await broadcasts.send(notification, to: channel) }
                result = .success(first)
            } catch {
                result = .failure(error)
            }
            connection.eventLoop.execute {
                let (connection, request) = connection.value
                switch result {
                case .success(let result): connection.accept(request, on: stream, as: RequestOutcome(result))
                case .failure(let rejection):
                    connection.record(.rejected(rejection.reason), request)
                    connection.answer(request, on: stream, .rejected(rejection))
                }
            }
        }
    }
}
