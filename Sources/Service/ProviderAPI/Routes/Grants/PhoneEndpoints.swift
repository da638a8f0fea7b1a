import Credentials
package import Delivery
package import Notifications
import Synchronization
package import Trust

/// What requests about handles need to make endpoints of Web Push for phones.
package final class PhoneEndpoints: Sendable {
    let store: any HandleEndpoints
    /// Those that the service serves.
    let environments: Set<Environment>
    private let key: EndpointKey
    private let known = Mutex<String?>(nil)

    package init(_ store: any HandleEndpoints, key: EndpointKey, environments: Set<Environment>) {
        self.store = store
        self.key = key
        self.environments = environments
    }

    /// The origin of all endpoints, without a slash at its end; nil until the listener of Web Push has its address.
    package var origin: String? {
        get { known.withLock { $0 } }
        set { known.withLock { $0 = newValue } }
    }

    /// Makes an endpoint that was never used. It is stored only if the handle has none of this name.
    func make(_ wish: EndpointWish, for handle: Handle, in environment: Environment) -> HandleEndpoint? {
        key.make(in: environment).map { seed, digest in
            HandleEndpoint(handle: handle, name: wish.name, seed: seed, digest: digest, vapid: wish.vapid)
        }
    }

    func url(of endpoint: HandleEndpoint, in environment: Environment, at origin: String) -> String {
        key.endpoint(of: endpoint.seed, in: environment)?.url(at: origin) ?? ""
    }
}

/// The member `webPush` of a request for a handle: `{"name":"mastodon.example","vapid":"B…"}`.
struct EndpointWish: Hashable {
    let name: String
    /// Nil if any application server may send.
    let vapid: [UInt8]?

    /// - Returns: nil if the request asks for no endpoint.
    static func read(_ body: JSONObject) throws(Rejection) -> EndpointWish? {
        guard let raw = body[raw: "webPush"], String(decoding: raw, as: UTF8.self) != "null" else { return nil }
        guard let object = body[object: "webPush"], let name = object[text: "name"], WebPushSubscription.isName(name)
        else {
            throw Rejection(
                .payloadEmpty, detail: "webPush must be a dictionary with \(WebPushSubscription.nameRule).")
        }
        do throws(TrustError) {
            return EndpointWish(name: name, vapid: try VAPIDKey.wished(in: object))
        } catch {
            throw Rejection(.payloadEmpty, detail: VAPIDKey.rule)
        }
    }
}
