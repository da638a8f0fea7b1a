import Trust
import Notifications
import Delivery
import DeliveryLogFiles
import Journal
import Logging
import Management
import VirtualDevices

/// The delivery log, and what receives its events.
struct ServiceLog: Sendable {
    let files: FileDeliveryLog
    /// Receives all events: the files, or the journal, which passes them on to the files.
    let events: any DeliveryLog
    /// Nil if the service does not serve the development environment.
    let journal: RequestJournal?
    /// Wakes the readers of the files.
    let signal: LogSignal

    /// Opens the delivery log. After each write it tells the log's readers, the metrics and the service's own log.
    init(
        in folder: DataFolder,
        _ settings: Settings,
        clock: ServiceClock,
        metrics: ServiceMetrics,
        logger: Logger,
    ) throws(ServiceError) {
        let (watch, signal) = (DeliveryLogWatch(logger), LogSignal())
        do {
            files = try FileDeliveryLog(
                folder: folder.logFolder, limits: settings.deliveryLog, clock: { clock.time }
            ) { report in
                watch.logLosses(report)
                metrics.count(report)
                signal.notify()
            }
        } catch {
            throw ServiceError(.dataFolder, error.description)
        }
        self.signal = signal
        journal = settings.environments.contains(.development) ? RequestJournal(clock: clock) : nil
        events = journal.map { [files] in JournalingLog($0, files) } ?? files
    }
}

extension ServiceBase {
    /// The delivery log as the management API reads it.
    /// - Parameter development: knows the device tokens that the service did not give out.
    func logSource(_ development: DevelopmentParts?) -> DeliveryLogSource {
        let (files, tokenKeys) = (log.files, secrets.tokenKeys)
        let devices = development?.devices
        let names = DeviceTokenNames { tokenKeys.keys.current }
        return DeliveryLogSource(
            folder: folder.logFolder, token: { devices?.namedToken($0) ?? names.token($0, key: $1) },
            signal: log.signal,
            flush: { await files.flush() })
    }
}
