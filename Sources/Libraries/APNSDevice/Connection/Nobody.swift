/// A delegate that ignores everything, for a device that only makes requests.
package struct Nobody: DeviceDelegate {
    package init() {}

    package func received(_ notification: ReceivedNotification) async {}
}
