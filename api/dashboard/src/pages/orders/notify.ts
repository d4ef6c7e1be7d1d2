/** The script that shows notifications where a page cannot. It is a file of the build, see public. */
const script = "/dashboard/notifications.js";

/** Shows a notification. Browsers on phones refuse notifications of a page; there, a service worker shows it. */
export async function notify(title: string, options: NotificationOptions, onClick: () => void) {
  try {
    const notification = new Notification(title, options);
    notification.addEventListener("click", () => {
      window.focus();
      onClick();
    });
  } catch {
    // A failure is not reported: the sound and the title of the page announce the order too.
    await notifyByWorker(title, options).catch(() => {});
  }
}

async function notifyByWorker(title: string, options: NotificationOptions) {
  await navigator.serviceWorker.register(script, { scope: "/dashboard/" });
  const worker = await navigator.serviceWorker.ready;
  await worker.showNotification(title, options);
}
