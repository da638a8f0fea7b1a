import Delivery
import Logging
import Management
import Notifications
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

    func isFree(_ app: AppID) -> Bool {
        let current = accounts.current
        return current.app(app).map { untouched.mayBe($0, in: current) } ?? true
    }

    func hasMade(_ app: AppID) -> Bool { apps.contains(app) }

    func device(of token: [UInt8]) -> DeviceID? { devices.device(of: token) }
}
