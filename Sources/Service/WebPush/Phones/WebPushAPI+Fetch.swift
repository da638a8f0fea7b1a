import Connections
import Delivery
import HTTPAPI
import HTTPTypes
import Hummingbird
import NIOCore
import Notifications
import Storage
import Trust

// Phones fetch the bodies that did not fit into their notifications.
extension WebPushAPI {
    /// Answers a body, as it came.
    /// - Parameters:
    ///   - id: the unguessable part of the URL.
    ///   - counts: whether the answer counts as the fetch. That of HEAD does not.
    func fetch(_ id: EndpointID, counts: Bool, _ address: PeerAddress?) async throws(Refusal) -> Response {
        let digest = EndpointKey.digest(of: id)
        guard let bodies = phones?.bodies, let kept = try await body(digest, bodies) else {
            if let address { rates.countGuess(of: address, at: clock.moment.uptime) }
            throw .status(404, "There is nothing at this URL, or not any more.")
        }
        let clock = clock
        return WebPushAnswer.body(kept.body) {
            // Hummingbird ends its task if the client closes the connection before all was written, and then this is not called.
            // If the store fails, the body is kept until its TTL ends.
            if counts { try? await bodies.fetched(digest, at: clock.time) }
        }
    }

    private func body(_ digest: [UInt8], _ bodies: any WebPushBodies) async throws(Refusal) -> KeptBody? {
        do throws(StoreError) {
            return try await bodies.body(with: digest, at: clock.time)
        } catch {
            throw Self.refusal(Rejection(error))
        }
    }
}
