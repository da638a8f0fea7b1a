import Credentials
import Delivery
import HTTP2
import NIOCore
import Notifications
import Storage
import Trust

// The requests for subscriptions of Web Push (docs/device-protocol.md).
extension DeviceConnection {
    /// Subscribes, and answers with the endpoint.
    func subscribeWebPush(
        _ request: DeviceRequest,
        named name: String,
        _ app: App,
        of device: DeviceKey,
        on stream: StreamID,
    ) throws(Rejection) {
        let (endpoints, origin) = try endpoints()
        let wish = try SubscriptionWish(request.body)
        let destination = device.destination(of: app.id)
        guard let new = endpoints.make(name, of: destination, vapid: wish.vapid, isPlain: wish.isPlain) else {
            throw Rejection(.internalServerError)
        }
        answer(stream) {
            do throws(StoreError) {
                let subscription = try await endpoints.subscriptions.subscribe(
                    new, limit: WebPushSubscription.maximumCount)
                let url = JSONString.quoted(endpoints.url(of: subscription, at: origin))
                return DeviceAnswer(status: 200, body: #"{"endpoint":\#(url)}"#)
            } catch {
                guard error.code == .conflict else { return DeviceAnswer(error) }
                let detail = JSONString.quoted(error.cause)
                return DeviceAnswer(status: 403, body: #"{"reason":"TooManySubscriptions","detail":\#(detail)}"#)
            }
        }
    }

    /// Ends a subscription. One that does not exist counts as ended.
    func unsubscribeWebPush(_ name: String, _ app: App, of device: DeviceKey, on stream: StreamID) throws(Rejection) {
        let (endpoints, _) = try endpoints()
        let destination = device.destination(of: app.id)
        let switchboard = courier.switchboard
        answer(stream) {
            do throws(StoreError) {
                let ended = try await endpoints.subscriptions.endSubscription(name, of: destination)
                if let ended { switchboard.removed(ended.destination) }
                return DeviceAnswer(status: 204)
            } catch {
                return DeviceAnswer(error)
            }
        }
    }

    func listWebPush(_ app: App, of device: DeviceKey, on stream: StreamID) throws(Rejection) {
        let (endpoints, origin) = try endpoints()
        let destination = device.destination(of: app.id)
        answer(stream) {
            do throws(StoreError) {
                let list = try await endpoints.subscriptions.subscriptions(of: destination).map { subscription in
                    let name = JSONString.quoted(subscription.name)
                    let url = JSONString.quoted(endpoints.url(of: subscription, at: origin))
                    let vapid = subscription.vapid.map {
                        "\"\(String(decoding: Base64URL.encoded($0), as: UTF8.self))\""
                    }
                    return
                        #"{"name":\#(name),"endpoint":\#(url),"vapid":\#(vapid ?? "null"),"plain":\#(subscription.isPlain)}"#
                }
                return DeviceAnswer(status: 200, body: #"{"subscriptions":[\#(list.joined(separator: ","))]}"#)
            } catch {
                return DeviceAnswer(error)
            }
        }
    }

    private func endpoints() throws(Rejection) -> (WebPushEndpoints, origin: String) {
        guard let endpoints = courier.webPush, let origin = endpoints.origin else {
            throw Rejection(
                .featureNotEnabled, detail: "The service has no Web Push: its option --web-push switches it on.")
        }
        return (endpoints, origin)
    }
}

/// The body of a request for a subscription: `{"vapid":"B…","plain":false}`. Both may be missing, and so may the body.
struct SubscriptionWish: Hashable {
    var vapid: [UInt8]?
    var isPlain = false

    init(_ body: [UInt8]) throws(Rejection) {
        guard !body.isEmpty else { return }
        guard let object = JSONObject(document: body) else {
            throw Rejection(.badRequestPayload, detail: JSONObject.refusal(of: body, as: "The body"))
        }
        do throws(TrustError) {
            vapid = try VAPIDKey.wished(in: object)
        } catch {
            throw Rejection(.badRequestPayload, detail: VAPIDKey.rule)
        }
        switch object[raw: "plain"].map({ String(decoding: $0, as: UTF8.self) }) {
        case "true": isPlain = true
        case nil, "false", "null": isPlain = false
        default: throw Rejection(.badRequestPayload, detail: "plain must be true or false.")
        }
    }
}
