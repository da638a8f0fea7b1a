import Delivery
import Logging
import Management
import Notifications
import Storage
import Trust
import VirtualDevices

/// Carries out `--accept any`: unknown teams and apps become accounts, and unknown device tokens virtual devices.
final class AcceptAny: FirstSight {
    let keys = UnknownKeys()
    private let accounts: any Accounts
    private let devices: VirtualDevices
    private let made: AccountsAtFirstSight
    private let apps = MadeApps()
    private let untouched: UntouchedApp

    init(
        accounts: any Accounts,
        devices: VirtualDevices,
        untouched: UntouchedApp,
        clock: ServiceClock,
        limits: AcceptLimits,
        logger: Logger,
    ) {
        self.accounts = accounts
        self.devices = devices
        self.untouched = untouched
        made = AccountsAtFirstSight(
            accounts: accounts, devices: devices, untouched: untouched, keys: keys, made: apps, clock: clock,
            limits: limits, logger: logger)
    }

    func makeApp(of topic: String, team: TeamID) async { await made.makeApp(of: topic, team: team) }

    func contents(of token: [UInt8], app: AppID, service: TopicKind) -> DeviceTokenContents? {
        guard let app = accounts.current.app(app) else { return nil }
        return devices.contents(of: token, app: app, service: service)
    }

    /// The subscription of an endpoint of Web Push that nobody has made. An endpoint says nothing of a team or an app, so all of
    /// them have the same one.
    func subscription(of endpoint: EndpointID) async -> Result<WebPushSubscription?, StoreError> {
        guard devices.hasWebPush, let bundleID = BundleID(rawValue: Self.webPushApp),
            let team = TeamID(rawValue: Self.webPushTeam)
        else { return .success(nil) }
        if accounts.current.apps[bundleID] == nil { await made.makeApp(of: Self.webPushApp, team: team) }
        guard let app = accounts.current.apps[bundleID] else { return .success(nil) }
        do throws(StoreError) {
            return .success(try await devices.subscription(atFirstSight: endpoint, of: app))
        } catch {
            return .failure(error)
        }
    }

    private static let webPushApp = "com.example.web-push"
    private static let webPushTeam = "WEBPUSH000"

    func isFree(_ app: AppID) -> Bool {
        let current = accounts.current
        return current.app(app).map { untouched.mayBe($0, in: current) } ?? true
    }

    func hasMade(_ app: AppID) -> Bool { apps.contains(app) }

    func device(of token: [UInt8]) -> DeviceID? { devices.device(of: token) }
}
